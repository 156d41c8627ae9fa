#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "exchange/notice_device.h"
#include "exchange/notice_orders.h"
#include "openrtb/signed_url.h"

namespace spillway::exchange {

/// What an event came to.
enum class EventEnd : uint8_t {
  kTaken,      ///< The first of its kind for its bid.
  kDuplicate,  ///< Reported before: nothing is sent again.
  kUnknown,    ///< Nobody waits for it here: another instance's, forgotten, or from before a start.
};

inline constexpr size_t kEventEnds = 3;

[[nodiscard]] std::string_view to_string(EventEnd end);

/// Won bids that wait for the caller's word, by auction and imp. Bounded in bytes: a newcomer puts
/// out the oldest; entries leave when their event URLs have expired. An entry stays after its
/// events, so that they are known as duplicates.
class NoticeTable {
 public:
  explicit NoticeTable(size_t bytes_max) : bytes_max_(bytes_max) {}

  void set_bytes_max(base::Instant now, size_t bytes_max);
  void add(base::Instant now, WaitingBid bid);

  /// What the event sets free is appended to `due`, in order of importance.
  EventEnd take(base::Instant now, const openrtb::Event& event, std::vector<NoticeOrder>& due);

  void expire(base::Instant now);

  [[nodiscard]] size_t size() const { return bids_.size(); }

  [[nodiscard]] size_t bytes() const { return bytes_; }

  /// Bids put out with a notice still waiting, for want of room or because their time was over.
  [[nodiscard]] uint64_t evicted() const { return evicted_; }

  [[nodiscard]] uint64_t expired() const { return expired_; }

 private:
  struct Key {
    uint64_t auction = 0;
    uint32_t imp = 0;

    bool operator==(const Key&) const = default;
  };

  struct KeyHash {
    size_t operator()(const Key& key) const { return base::combine64(key.auction, key.imp); }
  };

  struct Entry {
    std::string nurl, burl;
    DeviceLines device;
    bool billed_on_win = false;
    bool won = false;
    bool shown = false;
    base::Instant expires{};

    [[nodiscard]] size_t bytes() const;

    [[nodiscard]] bool waits() const { return !nurl.empty() || !burl.empty(); }
  };

  bool drop_oldest();

  size_t bytes_max_;
  size_t bytes_ = 0;
  uint64_t evicted_ = 0;
  uint64_t expired_ = 0;
  std::unordered_map<Key, Entry, KeyHash> bids_;
  std::deque<Key> in_order_;  ///< Of arrival, which is that of expiry unless lifetimes change.
};

}  // namespace spillway::exchange
