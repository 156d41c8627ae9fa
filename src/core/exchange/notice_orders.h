#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "exchange/conclusion.h"
#include "exchange/notice_device.h"

namespace spillway::exchange {

/// Of an OpenRTB bid: nurl, burl, lurl. In order of importance: billing first.
enum class NoticeKind : uint8_t { kBilling, kWin, kLoss };

inline constexpr size_t kNoticeKinds = 3;

[[nodiscard]] std::string_view to_string(NoticeKind kind);

/// A notice to be sent; its macros are expanded.
struct NoticeOrder {
  NoticeKind kind = NoticeKind::kWin;
  std::string url;
  DeviceLines device{};  ///< Of billing only.
};

/// A won bid's notices that wait for the caller to report an event.
struct WaitingBid {
  uint64_t auction = 0;
  uint32_t imp = 0;
  std::string nurl{};          ///< To be sent when it is reported won; empty: nothing to send.
  std::string burl{};          ///< When it is reported shown; empty: nothing to send.
  DeviceLines device{};        ///< Goes with the burl.
  bool billed_on_win = false;  ///< The burl goes with the win.
  base::Duration lifetime{};   ///< How long the event may take.
};

/// What one ended auction has to tell.
struct ClearedNotices {
  std::vector<NoticeOrder> due;  ///< To be sent now.
  std::vector<WaitingBid> waiting;

  [[nodiscard]] bool empty() const { return due.empty() && waiting.empty(); }

  void clear() {
    due.clear();
    waiting.clear();
  }
};

/// The notices of an ended auction, none for test=1:
///
/// | account                        | at clearing | win event  | imp event |
/// |--------------------------------|-------------|------------|-----------|
/// | auction_is_final               | nurl        |            | burl      |
/// | auction_is_final, on_win       | nurl, burl  |            |           |
/// | auction_is_final: false        |             | nurl       | burl      |
/// | auction_is_final: false, on_win|             | nurl, burl |           |
///
/// A burl goes with the request's device (notice_device.h) where the DSP was sent ids. Every losing
/// bid's lurl is due at clearing. Without event URLs (Snapshot::events) nothing can
/// be reported, so nothing waits: what would is not sent.
void list_notices(const Conclusion& end, ClearedNotices& out);

}  // namespace spillway::exchange
