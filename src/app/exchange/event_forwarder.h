#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "app/config/notice_config.h"
#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"
#include "resilience/guard.h"

namespace spillway::app {

/// What forwarded events came to, since the start.
struct ForwardCounts {
  uint64_t calls = 0;   ///< Attempts.
  uint64_t held = 0;    ///< Times that an instance's guard let nothing through while events waited.
  uint64_t sent = 0;    ///< The instance took it.
  uint64_t failed = 0;  ///< It would not, or its time was over.
  uint64_t dropped = 0;  ///< Too many wait, or the process ends.
};

/// Brings events to the instance that holds what they are about: GET `url`/event?… with the query
/// as it came, which is signed, and a mark behind the signature, so that nothing is forwarded
/// twice. Repeated after 250 ms, then twice as long up to 10 s, until it is taken or `retry_for` is
/// over. Instances are called whatever network they are in: the operator named them.
///
/// Each instance has a guard and kInFlight calls of its own: for one that hangs events wait here
/// until its circuit closes or they expire, and the others do not feel it.
///
/// Thread rule: all of it on the reactor's thread. Memory: at most kPending events of at most 2
/// KiB.
class EventForwarder final : private net::CallListener, private net::Timer {
 public:
  static constexpr size_t kPending = 10'000;
  static constexpr size_t kInFlight = 16;  ///< To one instance.
  /// What says that an event was forwarded.
  static constexpr std::string_view kMark = "&forwarded=1";

  explicit EventForwarder(net::Reactor& reactor);
  ~EventForwarder();

  void deploy(const NoticeConfig& config);

  /// Takes an event on. False when nobody of that name is known, or it was forwarded already.
  bool forward(base::Instant now, const std::string& instance, std::string_view query);

  /// The process ends: drops what is not settled, counted. How many.
  size_t abandon();

  [[nodiscard]] const ForwardCounts& counts() const { return counts_; }

  [[nodiscard]] bool quiet() const { return events_.empty(); }

  [[nodiscard]] size_t pending() const { return events_.size(); }

  [[nodiscard]] size_t peers() const { return peers_.size(); }

  /// Instances whose circuit is not closed.
  [[nodiscard]] size_t peers_open() const;

 private:
  struct Peer {
    HttpUrl place;
    net::TargetId target = 0;
    std::shared_ptr<resilience::Guard> guard;
    std::set<uint64_t> ready;
    size_t in_flight = 0;
    base::Instant wake = base::kNever;  ///< When its guard is asked again.
  };

  struct Event {
    std::string instance;
    std::string query;
    base::Instant expires{};
    base::Duration wait{};
    std::shared_ptr<resilience::Guard> guard;  ///< Of the permit, which it must outlive.
    resilience::Permit permit;
  };

  void pump(base::Instant now);
  void expire(base::Instant now);
  void wake_due(base::Instant now);
  void tick(base::Instant now);
  void send_ready(base::Instant now, Peer& peer);
  void send(base::Instant now, Peer& peer, uint64_t id);
  void arm(base::Instant now);
  void settle(uint64_t id, bool is_taken);
  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool draining) override;

  void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

  void on_timer(base::Instant now) override { pump(now); }

  net::Reactor& reactor_;
  net::Client client_;
  base::Duration timeout_{};
  base::Duration retry_for_{};
  std::map<std::string, Peer, std::less<>> peers_;
  std::map<uint64_t, Event> events_;
  std::set<std::pair<base::Instant, uint64_t>> due_;       ///< Those to be repeated.
  std::set<std::pair<base::Instant, uint64_t>> expiries_;  ///< Of all that are not under way.
  uint64_t next_id_ = 1;
  base::Instant next_tick_{};
  ForwardCounts counts_;
};

}  // namespace spillway::app
