#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/call_result.h"
#include "base/counter.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"

namespace spillway::adapters {

/// What the cloud said of this machine's end.
enum class SpotNotice : uint8_t {
  kRebalance,     ///< Likelier to be taken than others: a hint, minutes ahead at best.
  kInterruption,  ///< Stopped, hibernated or ended within two minutes.
};

struct SpotSettings {
  std::string host = "169.254.169.254";  ///< The instance metadata service.
  uint16_t port = 80;
  /// Between two looks. Larger: less of the two minutes is left. [1 s, 1 min].
  base::Duration interval = std::chrono::seconds(5);
  base::Duration timeout = std::chrono::seconds(1);  ///< Of one call. [50 ms, 10 s].
  uint32_t token_ttl_s = 21'600;                     ///< Of the session. [1, 21 600].
  bool rebalance = true;                             ///< Looks at the hint, too.
};

struct SpotCounters {
  base::Counter polls;     ///< Looks that were answered, by "none" or a notice.
  base::Counter tokens;    ///< Sessions begun.
  base::Counter failures;  ///< Calls without a usable answer.
};

/// Looks for Spot interruption notices and rebalance recommendations through version 2 of the EC2
/// instance metadata service: a session token first (PUT), renewed before its end and whenever it
/// is refused (401); 404 means that there is none. Each kind of notice is told once. One call at a
/// time; what fails is tried again at the next look.
///
/// One thread: the reactor's. Source: Amazon EC2 User Guide, "Spot Instance interruption notices",
/// "EC2 instance rebalance recommendations", "Use IMDSv2".
class SpotWatch final : private net::CallListener, private net::Timer {
 public:
  /// `text`: the notice as it came, at most 512 bytes.
  using Told = std::move_only_function<void(SpotNotice notice, std::string_view text)>;

  SpotWatch(net::Reactor& reactor, SpotSettings settings, Told told);
  SpotWatch(const SpotWatch&) = delete;
  SpotWatch& operator=(const SpotWatch&) = delete;
  ~SpotWatch();

  void start();

  [[nodiscard]] const SpotCounters& counters() const { return counters_; }

 private:
  enum class Step : uint8_t { kToken, kInterruption, kRebalance };

  void ask(Step step);
  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool draining) override;

  void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

  void on_timer(base::Instant now) override;
  void on_token(const base::CallResult& result, std::string_view body);
  void on_notice(Step step, const base::CallResult& result, std::string_view body);

  net::Reactor& reactor_;
  SpotSettings settings_;
  Told told_;
  SpotCounters counters_;
  std::string token_;
  base::Instant token_until_{};
  bool token_is_fresh_ = false;  ///< Given in this look: refused again, it is a failure.
  bool asking_ = false;
  bool told_interruption_ = false;
  bool told_rebalance_ = false;
  net::Client client_;
  net::TargetId target_;
};

}  // namespace spillway::adapters
