#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/backoff.h"
#include "resilience/classic.h"
#include "resilience/guard.h"
#include "resilience/probe_slot.h"
#include "resilience/ramp.h"
#include "resilience/settings.h"
#include "resilience/trip.h"
#include "resilience/window.h"

namespace spillway::resilience {

/// What the workers settled since the last tick, calls of the current epoch only.
struct Fold {
  uint64_t good = 0;
  uint64_t bad = 0;
  uint64_t overload = 0;
  uint64_t resets = 0;     ///< Of the bad ones.
  uint64_t slow = 0;       ///< Of the bad ones: slow answers and timeouts.
  uint64_t slow_only = 0;  ///< Of the slow ones: those that were no failure.
  uint64_t over_p99 = 0;   ///< Of the good ones: over the p99 ceiling of classic rules.
  /// Bad calls one by one, in any order. May lack some when there were more than 32 a worker:
  /// the run rule does not judge such volumes.
  std::span<const BadCall> bads;
  base::Instant last_good = base::Instant::min();
  /// In flight past their slow line: by the time they passed it, 12 at most for each. They are bad
  /// unless they end neutral; `ended` is when they passed it and `started` no later than they did.
  std::span<const BadCall> overdue;
  uint64_t overdue_calls = 0;  ///< All of them.
  uint64_t overdue_burst = 0;  ///< Most that passed it within 200 ms.
};

/// A change of state or mode and why.
struct Move {
  State from_state = State::kClosed;
  State to_state = State::kClosed;
  Mode from_mode = Mode::kEnforce;
  Mode to_mode = Mode::kEnforce;
  std::string_view rule;  ///< Static text.
  std::string reason;
  uint64_t calls = 0;
  uint64_t bad = 0;
  base::Duration open_for{};
};

/// The state machine of one leaf: closed, open, half_open, ramping, times the operator's mode. It
/// is told what was settled and what the probes said, and decides at ticks; who may pass between
/// ticks follows from state, epoch and admit_ratio.
///
/// The epoch rises by one with every move, and with nothing else. Windows begin empty in each
/// epoch. Disabled counts and never moves; shadow moves like enforce.
///
/// By `rules: classic` a ClassicWindow decides when closed and half-open, the wait is
/// classic_wait, and there is no ramp.
///
/// One thread. Time that goes back is taken as standing still; a late tick makes one move at most.
/// Memory: fixed, about 2 kB, and 16 bytes a bucket of a classic window. Source: shared notes on
/// resilience 3.0, 3.3, 3.4.
class Breaker {
 public:
  Breaker(const Settings& settings, uint64_t seed, base::Instant now);

  /// Folds what happened and makes at most one move.
  std::optional<Move> tick(base::Instant now, const Fold& fold, const ProbeRound& probes);

  /// Sets the operator's mode until `until`; kEnforce clears it. Null when the mode stays.
  std::optional<Move> override_mode(base::Instant now, Mode mode, base::Instant until,
                                    std::string_view why);

  /// The parent tripped: opens with it when closed or ramping and the mode lets it move.
  std::optional<Move> open_with_parent(base::Instant now, const Evidence& pooled,
                                       std::string_view what);

  /// What the last tick folded.
  [[nodiscard]] const Tally& folded() const { return tick_; }

  /// Keeps windows, state, back-off and baseline; a classic window begins anew when its rules
  /// change. A change of enforcement moves at the next tick, a half-open round ends under the rules
  /// it began with.
  void set_settings(const Settings& settings);

  [[nodiscard]] State state() const { return state_; }

  [[nodiscard]] Mode mode() const { return mode_; }

  [[nodiscard]] uint32_t epoch() const { return epoch_; }

  /// Share of calls the state admits: 1 closed, 0 open and half_open, the step when ramping.
  [[nodiscard]] double admit_ratio() const;

  [[nodiscard]] const Settings& settings() const { return settings_; }

  [[nodiscard]] const BadRatioBaseline& usual() const { return usual_; }

  /// The last 20 blamed calls were all bad: no remaining-time rule may keep calls away now.
  [[nodiscard]] bool failing() const { return bad_streak_ >= 20; }

  /// The recent bad share is no more than the usual one: latencies may be learnt.
  [[nodiscard]] bool healthy() const;

  /// The probe round was armed anew in this tick, in the same epoch.
  [[nodiscard]] bool rearmed() const { return rearmed_; }

  /// The half-open round is judged by the classic window: it wants this many probes. 0: it is not.
  [[nodiscard]] uint32_t classic_probes() const { return classic_probes_; }

  /// When the epoch began.
  [[nodiscard]] base::Instant epoch_start() const { return epoch_start_; }

  /// A whole round went by without a probe although the leaf waits for one: be less choosy.
  [[nodiscard]] bool starved() const { return starved_; }

 private:
  /// What an opening follows: a trip out of closed, a failed round that is looked at again soon, or
  /// a relapse.
  enum class After : uint8_t { kTrip, kSecondLook, kRelapse };

  [[nodiscard]] bool classic() const { return settings_.rules == Settings::Rules::kClassic; }

  void take_in(const Fold& fold);
  void take_in_classic(const Fold& fold);
  std::optional<Move> decide(const ProbeRound& probes);
  std::optional<Move> decide_closed();
  std::optional<Move> decide_open();
  std::optional<Move> decide_half_open(const ProbeRound& probes);
  std::optional<Move> decide_ramping();
  std::optional<Move> decide_classic(std::string_view fine, std::string_view too_bad);
  std::optional<Move> judge_probes(const ProbeRound& probes);
  [[nodiscard]] bool run_trips(const Evidence& fast) const;
  Move open(std::string_view rule, const Evidence& seen, const std::string& what, After after);
  Move move_to(State state, Mode mode, std::string_view rule, std::string reason);
  [[nodiscard]] Mode settings_mode() const;
  State enter(Mode mode);

  Settings settings_;
  base::Rng rng_;
  base::Instant now_;
  State state_ = State::kClosed;
  Mode mode_ = Mode::kEnforce;
  std::optional<Mode> override_;
  base::Instant override_until_ = base::kNever;
  uint32_t epoch_ = 1;

  Ring<10> fast_{std::chrono::milliseconds(200)};
  Ring<10> slow_{std::chrono::seconds(1)};

  /// Bad calls of one tick; those of the last 200 ms make a burst.
  struct Settled {
    base::Instant at{};
    uint64_t bad = 0;
    uint64_t resets = 0;
  };

  std::vector<Settled> recent_;
  Tally tick_;     ///< What the current tick folded.
  Tally overdue_;  ///< In flight past the slow line at this tick: as good as bad.
  std::span<const BadCall> overdue_calls_;
  base::Instant resumed_{};  ///< When ticks last came back after a pause.
  BadRun run_;
  std::optional<ClassicWindow> classic_;
  uint32_t classic_probes_ = 0;
  uint32_t attempt_ = 0;  ///< Openings by classic rules since it was closed.
  BadRatioBaseline usual_;
  uint64_t bad_streak_ = 0;
  base::Duration since_last_tick_{};

  Backoff backoff_;
  uint32_t failed_rounds_ = 0;  ///< Since the last relapse or trip.
  base::Instant epoch_start_{};
  base::Instant open_since_{};
  base::Instant open_until_{};
  base::Instant round_start_{};
  bool rearmed_ = false;
  bool starved_ = false;
  Ramp ramp_;
};

}  // namespace spillway::resilience
