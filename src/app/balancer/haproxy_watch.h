#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "adapters/haproxy_client.h"
#include "app/balancer/balancer_config.h"
#include "app/balancer/change.h"
#include "app/balancer/effect.h"
#include "app/balancer/fleet.h"
#include "app/balancer/membership.h"
#include "app/balancer/picture.h"
#include "app/balancer/state_file.h"
#include "app/balancer/watchdog.h"
#include "base/counter.h"
#include "base/time.h"
#include "net/reactor.h"
#include "observe/log.h"

namespace spillway::app::balancing {

/// Single writer: the balancer's thread.
struct HaproxyWatchCounters {
  base::Counter rounds;      ///< That read HAProxy.
  base::Counter unreadable;  ///< Answers that are no picture.
  base::Counter skipped;     ///< The round before was not over.
  base::Counter restarts;
  base::Counter windows;                            ///< Of the proof of effect.
  std::array<base::Counter, kChangeKinds> changes;  ///< Done.
  std::array<base::Counter, kDeclines> declined;
  std::array<base::Counter, kEffectCauses> warnings;  ///< Windows out of tolerance.
};

/// The rounds with one HAProxy: reads it, decides, changes it. One thread: the reactor's.
class HaproxyWatch {
 public:
  /// `fleet` and all else outlive it. `applies` false: nothing is changed, only said.
  HaproxyWatch(net::Reactor& reactor, const HaproxyPlace& place, const BalancerConfig& config,
               const Fleet& fleet, observe::Log& log, bool applies);

  /// Begins a round; `done(ok)` when it is over, on the reactor's thread, never from inside. False
  /// when the last is still under way: it is counted and `done` is not called.
  bool round(std::function<void(bool ok)> done);

  /// Between two rounds: other settings of `config`, whose backend and command_timeout are those it
  /// was made with. What is known of weights stays.
  void configure(const BalancerConfig& config);

  [[nodiscard]] const HaproxyPlace& place() const { return place_; }

  [[nodiscard]] const std::string& name() const { return place_.name; }

  /// Of the last round that succeeded; null until then and while HAProxy cannot be read.
  [[nodiscard]] const Picture* picture() const { return picture_ ? &*picture_ : nullptr; }

  [[nodiscard]] const MembershipPlan& plan() const { return plan_; }

  /// Changes that the last round wanted, done or not.
  [[nodiscard]] const std::vector<Change>& wanted() const { return wanted_; }

  [[nodiscard]] const Watchdog& watchdog() const { return watchdog_; }

  [[nodiscard]] const std::optional<EffectReport>& effect() const { return report_; }

  /// "" when the last round succeeded.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] const StateFile& state_file() const { return state_file_; }

  [[nodiscard]] const adapters::HaproxyClient& client() const { return client_; }

  [[nodiscard]] const HaproxyWatchCounters& counters() const { return counters_; }

 private:
  void take(const adapters::HaproxyAnswers& answers);
  void decide(const Picture& picture);
  void apply();
  void end_changes(const adapters::HaproxyAnswers& answers);
  void finish(bool ok);
  void keep_states(const std::string& states);
  void judge_effect(const Picture& picture);
  [[nodiscard]] ServerClasses classes(const Picture& picture) const;
  void fail(const std::string& error);

  net::Reactor& reactor_;
  HaproxyPlace place_;
  std::string backend_;
  const Fleet& fleet_;
  observe::Log& log_;
  bool applies_;
  adapters::HaproxyClient client_;
  Membership membership_;
  Watchdog watchdog_;
  Effect effect_;
  StateFile state_file_;
  HaproxyWatchCounters counters_;
  std::optional<Picture> picture_;
  MembershipPlan plan_;
  std::vector<Change> wanted_;
  std::optional<EffectReport> report_;
  std::string error_;
  std::function<void(bool)> done_;
};

}  // namespace spillway::app::balancing
