#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/exchange/spsc_ring.h"
#include "base/counter.h"
#include "base/money.h"
#include "bidder/scoring/ab_split.h"

namespace spillway::app::bidding {

/// Text inside an event: no memory of its own. What is longer is cut, never inside a character.
template <size_t Most>
class EventText {
 public:
  EventText() = default;

  // NOLINTNEXTLINE(google-explicit-constructor): a text is what it says
  EventText(std::string_view text) {
    size_t size = std::min(text.size(), Most);
    while (size < text.size() && size > 0 &&
           (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) {
      --size;
    }
    std::copy_n(text.begin(), size, bytes_.begin());
    size_ = static_cast<uint8_t>(size);
  }

  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  static_assert(Most < 256);
  std::array<char, Most> bytes_{};
  uint8_t size_ = 0;
};

/// One thing that happened to one bid.
struct BidEvent {
  enum class Kind : uint8_t { kBid, kWin, kBilling, kLoss };
  static constexpr size_t kKinds = 4;

  Kind kind = Kind::kBid;
  bidder::Arm arm = bidder::Arm::kControl;
  std::string_view end{};  ///< Of a notice: what became of it, as in metrics; static text.
  int64_t unix_ms = 0;
  uint64_t bid = 0;  ///< Its key: bid.id of the answer, and in all its notices.
  int64_t campaign = 0;
  int64_t line_item = 0;  ///< 0: not known.
  int64_t creative = 0;
  base::Cpm price{};  ///< What is bid, or what the exchange says is paid.
  base::Currency currency{};
  int loss = -1;  ///< The exchange's reason; -1: none.
  EventText<32> exchange{};
  EventText<64> request{};
  EventText<32> imp{};
};

/// "bid", "win", "billing", "loss".
[[nodiscard]] std::string_view to_string(BidEvent::Kind kind);

/// Appends the event as one line of JSON, its end included.
void append_event(std::string& out, const BidEvent& event);

/// Where events are written.
struct EventSettings {
  std::string file;        ///< Empty: nowhere.
  uint32_t queue = 8'192;  ///< Events of a worker that wait to be written; 250 bytes each.
};

/// The bidder's events, a line of JSON each, appended to a file by a thread of its own. No bid and
/// no notice waits for it: an event that finds its worker's queue full is dropped, one that cannot
/// be written (a full disk, a pipe that nobody reads) is lost, both counted; the next ones are
/// tried all the same. A line that could only be begun is ended before the next one.
///
/// Threads: offer() from the worker named; the rest from any. Memory: `queue` events a worker.
class EventLog {
 public:
  /// Opens the file for appending, and makes it where there is none.
  EventLog(const EventSettings& settings, uint32_t workers);
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog();  ///< Writes what is queued, as far as that can be written.

  /// Empty, or one sentence: it could not be opened.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] bool enabled() const { return !path_.empty(); }

  void offer(uint32_t worker, const BidEvent& event);

  /// Opens the file anew before the next write: somebody has moved it away.
  void reopen() { reopen_.store(true, std::memory_order_relaxed); }

  [[nodiscard]] uint64_t written() const { return written_.value(); }

  [[nodiscard]] uint64_t dropped() const;

  [[nodiscard]] uint64_t lost() const { return lost_.value(); }

 private:
  struct Lane {
    explicit Lane(size_t capacity) : ring(capacity) {}

    SpscRing<BidEvent> ring;
    base::Counter dropped;
  };

  void run();
  bool write_some();
  std::string_view write(std::string_view text);
  [[nodiscard]] bool open();

  std::string path_;
  std::string error_;
  int file_ = -1;
  bool torn_ = false;  ///< The last line written has no end.
  std::vector<std::unique_ptr<Lane>> lanes_;
  base::Counter written_, lost_;
  std::string buffer_;
  std::atomic<bool> reopen_{false};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace spillway::app::bidding
