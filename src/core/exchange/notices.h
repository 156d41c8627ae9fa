#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/call_result.h"
#include "base/time.h"
#include "exchange/notice_device.h"
#include "exchange/notice_orders.h"
#include "exchange/notice_table.h"
#include "exchange/notice_url.h"
#include "openrtb/signed_url.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::exchange {

struct NoticeLimits {
  uint32_t queue = 10'000;  ///< Notices not settled. Losses are taken up to half, wins to 3/4.
  size_t table_bytes = size_t{64} << 20;  ///< Of bids that wait for an event.
  uint32_t hosts = 256;                   ///< Notice hosts known at once.
  uint32_t rate_per_host = 500;           ///< Notices a second to one host.
  uint32_t in_flight_per_host = 16;
  base::Duration timeout = std::chrono::seconds(2);             ///< Of one attempt.
  base::Duration retry_for = std::chrono::seconds(60);          ///< From when it was due.
  base::Duration retry_first = std::chrono::milliseconds(250);  ///< Doubles to 10 s.
};

/// Why a notice was not taken on, or, at the end of the process, not kept any longer.
enum class NoticeDrop : uint8_t { kBadUrl, kPrivateAddress, kQueueFull, kTooManyHosts, kStopping };

inline constexpr size_t kNoticeDrops = 5;

[[nodiscard]] std::string_view to_string(NoticeDrop drop);

/// What a call that only tells something came to, as its host's guard hears it.
[[nodiscard]] resilience::Outcome outcome_of_notice(const base::CallResult& result);

/// Counts since the start. taken = sent + failed + expired + dropped for kStopping + pending(), for
/// each kind.
struct NoticeCounts {
  using ByKind = std::array<uint64_t, kNoticeKinds>;
  ByKind taken{};    ///< Took a place in the queue.
  ByKind sent{};     ///< Answered 2xx.
  ByKind failed{};   ///< Given up after an attempt that may not be repeated.
  ByKind expired{};  ///< Given up when its time was over.
  ByKind retried{};  ///< Attempts that are to be repeated.
  std::array<ByKind, kNoticeDrops> dropped{};
  std::array<uint64_t, kEventEnds> events{};
};

/// Make this call: GET `target` of the host, and report with on_result.
struct NoticeCall {
  uint64_t id = 0;
  uint32_t host = 0;
  const NoticePlace* place = nullptr;  ///< Valid while the host is not among gone_hosts().
  std::string target;
  DeviceLines device{};  ///< Header lines to send, or null.
  base::Instant deadline{};
};

/// Tells DSPs what became of their bids, as a pure state machine: fed auctions, events, results and
/// time, it says which calls to make.
///
/// A billing notice is sent at least once: repeated with growing waits until it is answered 2xx or
/// `retry_for` is over. A win notice is repeated only while it surely never left. A loss notice is
/// tried once, if it can be within a sixth of that time. Each bid's notice is taken on once; an
/// event repeated is none.
///
/// Every host has a guard, a rate, a number of calls in flight; billing goes first. What must wait
/// waits in the queue, which is bounded, as is the table of bids that wait for an event.
///
/// One thread. Memory: queue x (about 300 bytes, the URL and the device's lines) + table_bytes +
/// hosts x 8 kB. Cost: O(log queue) a notice.
class Notices {
 public:
  /// Whether a host may be called at all: the rule on private addresses.
  using MayCall = std::function<bool(const NoticePlace&)>;

  Notices(const NoticeLimits& limits, uint64_t seed, MayCall may_call);

  void set_limits(base::Instant now, const NoticeLimits& limits);

  void on_cleared(base::Instant now, ClearedNotices&& cleared);
  EventEnd on_event(base::Instant now, const openrtb::Event& event);

  /// An event that names another instance.
  void on_foreign_event() { ++counts_.events[static_cast<size_t>(EventEnd::kUnknown)]; }

  void on_result(base::Instant now, uint64_t id, const base::CallResult& result);
  void on_deadline(base::Instant now);

  /// The process ends: what is not settled is dropped, calls under way included. How many.
  size_t abandon();

  /// When on_deadline wants to be called; kNever when nothing waits. Guards want it every 100 ms
  /// while calls are made.
  [[nodiscard]] base::Instant next_deadline() const;

  /// The calls to make since the last time.
  [[nodiscard]] std::vector<NoticeCall> take_calls() { return std::exchange(calls_, {}); }

  /// Hosts forgotten since the last time: their connections may go.
  [[nodiscard]] std::vector<uint32_t> take_gone_hosts() { return std::exchange(gone_, {}); }

  [[nodiscard]] const NoticeCounts& counts() const { return counts_; }

  [[nodiscard]] const NoticeTable& table() const { return table_; }

  [[nodiscard]] size_t pending() const { return queue_.size(); }

  [[nodiscard]] size_t hosts() const { return hosts_.size(); }

  /// Hosts whose circuit is not closed.
  [[nodiscard]] size_t hosts_open() const;

 private:
  struct Host {
    uint32_t id = 0;
    std::unique_ptr<resilience::Guard> guard;
    std::set<std::pair<NoticeKind, uint64_t>> ready;
    uint32_t queued = 0;  ///< Ready, in flight and to be repeated.
    uint32_t in_flight = 0;
    double tokens = 0;
    base::Instant filled_at{};
    base::Instant wake = base::kNever;  ///< When what is ready may go, if nothing else says so.
    base::Instant used_at{};
  };

  using Place = std::map<NoticePlace, Host>::value_type;

  struct Notice {
    NoticeKind kind = NoticeKind::kWin;
    Place* place = nullptr;
    std::string target;
    DeviceLines device;
    base::Instant expires{};
    base::Instant again_at = base::kNever;
    uint32_t attempts = 0;
    bool in_flight = false;
    resilience::Permit permit;
  };

  void take_on(base::Instant now, NoticeOrder&& order);
  Place* place_of(base::Instant now, const NoticePlace& place);
  bool forget_idle_host();
  void pump(base::Instant now, Place& place);
  void send(base::Instant now, Place& place, uint64_t id);
  void repeat(base::Instant now, uint64_t id, Notice& notice);
  void remove(uint64_t id);
  void drop(NoticeDrop why, NoticeKind kind);
  [[nodiscard]] bool may_repeat(const Notice& notice, const base::CallResult& result) const;
  [[nodiscard]] size_t room_for(NoticeKind kind) const;

  NoticeLimits limits_;
  uint64_t seed_;
  MayCall may_call_;
  NoticeTable table_;
  NoticeCounts counts_;
  uint64_t next_id_ = 1;
  uint32_t next_host_ = 1;
  std::map<NoticePlace, Host> hosts_;  // before the queue, whose permits may not outlive it
  std::map<uint64_t, Notice> queue_;
  std::set<std::pair<base::Instant, uint64_t>> repeats_;
  std::set<std::pair<base::Instant, uint64_t>> expiries_;  ///< Of all that is not in flight.
  base::Instant next_tick_{};
  std::vector<NoticeCall> calls_;
  std::vector<uint32_t> gone_;
};

}  // namespace spillway::exchange
