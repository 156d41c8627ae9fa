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
  uint64_t resets = 0;  ///< Of the bad ones.
  /// Bad calls one by one, in any order. May lack some when there were more than 32 a worker:
  /// the run rule does not judge such volumes.
  std::span<const BadCall> bads;
  base::Instant last_good = base::Instant::min();
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
/// One thread. Time that goes back is taken as standing still; a late tick makes one move at most.
/// Memory: fixed, about 2 kB. Source: shared notes on resilience 3.0, 3.3, 3.4.
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

  /// Keeps windows, state, back-off and baseline. A change of enforcement moves at the next tick.
  void set_settings(const Settings& settings) { settings_ = settings; }

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

  /// A whole round went by without a probe although the leaf waits for one: be less choosy.
  [[nodiscard]] bool starved() const { return starved_; }

 private:
  void take_in(const Fold& fold);
  std::optional<Move> decide(const ProbeRound& probes);
  std::optional<Move> decide_closed();
  std::optional<Move> decide_open();
  std::optional<Move> decide_half_open(const ProbeRound& probes);
  std::optional<Move> decide_ramping();
  Move open(std::string_view rule, const Evidence& seen, const std::string& what, bool relapse);
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
  Tally tick_;  ///< What the current tick folded.
  BadRun run_;
  BadRatioBaseline usual_;
  uint64_t bad_streak_ = 0;
  base::Duration since_last_tick_{};

  Backoff backoff_;
  base::Instant open_since_{};
  base::Instant open_until_{};
  base::Instant round_start_{};
  bool rearmed_ = false;
  bool starved_ = false;
  Ramp ramp_;
};

}  // namespace spillway::resilience
