#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

// Invariants of the design notes, 3.6, over random schedules. RapidCheck prints its seed; repeat
// with RC_PARAMS="seed=…", lengthen with RC_PARAMS="max_success=…".

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

/// One step of a schedule, in raw numbers so that it shrinks well.
struct Step {
  enum Kind : uint8_t { kAdmit, kFinish, kDrop, kEndTail, kTick, kMode, kSettings, kKinds };

  uint8_t kind = 0;
  uint8_t pick = 0;
  uint8_t amount = 0;
};

void showValue(const Step& step, std::ostream& out) {
  out << int{step.kind} << ':' << int{step.pick} << ':' << int{step.amount};
}

rc::Gen<std::vector<Step>> schedules() {
  // Admit, finish and tick more often than the rest: most of life is that.
  const auto kind = rc::gen::weightedElement<uint8_t>({{8, Step::kAdmit},
                                                       {8, Step::kFinish},
                                                       {1, Step::kDrop},
                                                       {4, Step::kEndTail},
                                                       {6, Step::kTick},
                                                       {1, Step::kMode},
                                                       {1, Step::kSettings}});
  const auto step = rc::gen::build<Step>(
      rc::gen::set(&Step::kind, kind), rc::gen::set(&Step::pick, rc::gen::arbitrary<uint8_t>()),
      rc::gen::set(&Step::amount, rc::gen::arbitrary<uint8_t>()));
  return rc::gen::scale(6.0, rc::gen::container<std::vector<Step>>(step));
}

enum class Twist : uint8_t {
  kNone,
  kStaleAreNeutral,  ///< A result whose epoch has passed is settled as a neutral one.
  kTimeGoesBack,     ///< Ticks of an earlier time are thrown in.
  kNeutralOnly,      ///< Every outcome is neutral, no operator acts.
  kGoodOnly,         ///< Every outcome is a good answer, no operator acts.
};

/// Plays a schedule against a guard beside a plain model of what must be true.
class Play {
 public:
  Play(const std::vector<Step>& steps, Twist twist) : twist_(twist) {
    for (const Step& step : steps) {
      play(step);
      check();
    }
    tails_.clear();
    calls_.clear();
    settled_ += static_cast<uint64_t>(std::exchange(live_permits_, 0));
    RC_ASSERT(guard_.peek().in_flight == 0);
    RC_ASSERT(outcomes() == settled_);
  }

  [[nodiscard]] const std::vector<Transition>& log() const { return log_; }

 private:
  void play(const Step& step) {
    switch (static_cast<Step::Kind>(step.kind)) {
      case Step::kAdmit:
        // Bursts: one step may begin several calls.
        for (int i = 0; i <= step.pick % 4; ++i) {
          admit(step);
        }
        break;
      case Step::kFinish:
        for (int i = 0; i <= step.amount % 4 && !calls_.empty(); ++i) {
          finish(step);
        }
        break;
      case Step::kDrop:
        if (!calls_.empty()) {
          take_call(step.pick);
          ++settled_;
          --live_permits_;
        }
        break;
      case Step::kEndTail:
        if (!tails_.empty()) {
          end_tail(step);
        }
        break;
      case Step::kTick:
        tick(step);
        break;
      case Step::kMode:
        if (twist_ != Twist::kNeutralOnly && twist_ != Twist::kGoodOnly) {
          guard_.set_mode(now_, static_cast<Mode>(step.pick % 4), now_ + step.amount * 100ms,
                          "test", log_);
        }
        break;
      case Step::kSettings:
        settings_.max_in_flight = step.pick % 40;
        settings_.qps = step.amount % 3 == 0 ? step.amount : 0;
        guard_.set_settings(settings_);
        break;
      case Step::kKinds:
        break;
    }
  }

  void admit(const Step& step) {
    const uint32_t worker = step.amount % 2;
    const base::Duration offered = 10ms + step.amount * 2ms;
    auto given = guard_.admit(worker, {.now = now_, .offered = offered, .request_hash = ++hash_});
    ++attempts_;
    if (given) {
      if (given->terms().how == Admitted::kProbe) {
        RC_ASSERT(guard_.peek().state == State::kHalfOpen);
      }
      calls_.push_back({.permit = std::move(*given), .started = now_});
      ++live_permits_;
    } else {
      ++refused_;
    }
  }

  struct Call {
    Permit permit;
    base::Instant started{};
  };

  Call take_call(uint8_t pick) {
    const auto at = calls_.begin() + pick % static_cast<std::ptrdiff_t>(calls_.size());
    Call taken = std::move(*at);
    calls_.erase(at);
    return taken;
  }

  [[nodiscard]] Outcome outcome(const Step& step) const {
    constexpr std::array kNeutral{Outcome::kShort, Outcome::kRejectedByPeer, Outcome::kCancelled,
                                  Outcome::kNotSent, Outcome::kAbandoned};
    if (twist_ == Twist::kNeutralOnly) {
      return kNeutral[step.pick % kNeutral.size()];
    }
    if (twist_ == Twist::kGoodOnly) {
      return Outcome::kOk;
    }
    // Half of all bad in a row of schedules, so that states do move.
    return step.amount % 2 == 0 ? Outcome::kServerError
                                : static_cast<Outcome>(step.pick % kOutcomes);
  }

  void finish(const Step& step) {
    Call call = take_call(step.pick);
    Outcome made = outcome(step);
    const bool stale = call.permit.terms().epoch != guard_.peek().epoch;
    const bool answer =
        made == Outcome::kOk || made == Outcome::kSlow || made == Outcome::kMalformed;
    const bool silent = made == Outcome::kTimeout || made == Outcome::kShort;
    if (stale && twist_ == Twist::kStaleAreNeutral) {
      made = silent ? Outcome::kShort : Outcome::kCancelled;
    }
    Tail tail = call.permit.finish(now_, made);
    ++settled_;
    --live_permits_;
    if (stale && answer) {
      // Both plays let go of it here; the neutral one still brings the latency to the baselines.
      if (twist_ == Twist::kStaleAreNeutral) {
        tail.settle(now_ - call.started);
      }
      return;
    }
    tails_.push_back(std::move(tail));
  }

  void end_tail(const Step& step) {
    const auto at = tails_.begin() + step.pick % static_cast<std::ptrdiff_t>(tails_.size());
    tails_.erase(at);
  }

  void tick(const Step& step) {
    // Past its slow line a call is no longer good or neutral, in flight or ended.
    if (twist_ == Twist::kNeutralOnly || twist_ == Twist::kGoodOnly) {
      while (!calls_.empty()) {
        finish(step);
      }
    }
    now_ += step.pick % 16 == 0 ? step.amount * 100ms : 100ms;
    guard_.tick(now_, log_);
    if (twist_ == Twist::kTimeGoesBack) {
      guard_.tick(now_ - step.amount * 1s, log_);
    }
  }

  [[nodiscard]] uint64_t outcomes() const {
    const Totals totals = guard_.totals();
    uint64_t sum = 0;
    for (const uint64_t count : totals.outcomes) {
      sum += count;
    }
    return sum;
  }

  void check() {
    const Peek seen = guard_.peek();
    const auto held = live_permits_ + static_cast<int64_t>(tails_.size());
    RC_ASSERT(seen.in_flight == held);                    // 11
    RC_ASSERT(outcomes() == settled_);                    // 2
    RC_ASSERT(seen.epoch == first_epoch_ + log_.size());  // 10, 13
    if (!log_.empty()) {
      RC_ASSERT(log_.back().epoch == seen.epoch);
      RC_ASSERT(log_.back().to_state == seen.state);
      RC_ASSERT(log_.back().to_mode == seen.mode);
      RC_ASSERT(!log_.back().reason.empty());
    }
    const Totals totals = guard_.totals();
    uint64_t admitted = 0;
    uint64_t refused = 0;
    for (size_t i = 0; i < 5; ++i) {
      admitted += totals.admitted[i];
      refused += totals.refused[i];
    }
    RC_ASSERT(admitted + refused == attempts_);
    RC_ASSERT(refused == refused_);
  }

  Twist twist_;
  base::Instant now_{1h};
  Settings settings_{.open_min = 500ms, .open_max = 2s, .ramp = 2s, .max_in_flight = 0};
  Guard guard_{"dsp/eu/display", settings_, 2, 11, base::Instant(1h)};
  uint32_t first_epoch_ = guard_.peek().epoch;
  std::vector<Transition> log_;
  std::vector<Call> calls_;
  std::vector<Tail> tails_;
  int64_t live_permits_ = 0;
  uint64_t settled_ = 0;
  uint64_t attempts_ = 0;
  uint64_t refused_ = 0;
  uint64_t hash_ = 0;
};

bool same(const std::vector<Transition>& a, const std::vector<Transition>& b) {
  return std::ranges::equal(a, b, [](const Transition& x, const Transition& y) {
    return x.at == y.at && x.to_state == y.to_state && x.to_mode == y.to_mode &&
           x.epoch == y.epoch && x.rule == y.rule && x.reason == y.reason;
  });
}

TEST(GuardProperties, EveryPermitSettlesOnceEpochsRiseWithTransitionsAndInFlightIsExact) {
  EXPECT_TRUE(rc::check("2, 10, 11, 13", [] {
    const auto steps = *schedules();
    const Play play(steps, Twist::kNone);
    RC_CLASSIFY(!play.log().empty(), "moved");
  }));
}

TEST(GuardProperties, AResultOfAPassedEpochMovesNothing) {
  EXPECT_TRUE(rc::check("3", [] {
    const auto steps = *schedules();
    RC_ASSERT(same(Play(steps, Twist::kNone).log(), Play(steps, Twist::kStaleAreNeutral).log()));
  }));
}

TEST(GuardProperties, NeutralOutcomesMoveNothing) {
  EXPECT_TRUE(
      rc::check("6", [] { RC_ASSERT(Play(*schedules(), Twist::kNeutralOnly).log().empty()); }));
}

TEST(GuardProperties, TimeThatGoesBackMovesNothing) {
  EXPECT_TRUE(rc::check("7", [] {
    const auto steps = *schedules();
    RC_ASSERT(same(Play(steps, Twist::kNone).log(), Play(steps, Twist::kTimeGoesBack).log()));
  }));
}

TEST(GuardProperties, AGoodDependencyIsNeverOpened) {
  EXPECT_TRUE(
      rc::check("14", [] { RC_ASSERT(Play(*schedules(), Twist::kGoodOnly).log().empty()); }));
}

TEST(GuardProperties, TheRampAdmitsNoMoreThanItsStep) {
  EXPECT_TRUE(rc::check("12", [](uint64_t seed) {
    base::Rng rng(seed);
    Guard guard("dsp" + std::to_string(seed), {.max_in_flight = 0}, 1, seed, base::Instant(1h));
    std::vector<Transition> log;
    base::Instant now(1h);
    guard.set_mode(now, Mode::kForcedOpen, now + 1s, "test", log);
    now += 1s;
    guard.tick(now, log);
    while (guard.peek().state == State::kRamping) {
      const double share = guard.peek().admit_ratio;
      int passed = 0;
      for (int i = 0; i < 500; ++i) {
        auto permit = guard.admit(0, {.now = now, .offered = 300ms, .request_hash = rng.next()});
        passed += permit ? 1 : 0;
        if (permit) {
          permit->finish(now, Outcome::kOk);
        }
      }
      // Five deviations: thousands of samples must not fail by chance.
      RC_ASSERT(passed <= 500 * share + 5 * std::sqrt(500 * share * (1 - share)) + 1);
      now += 500ms;
      guard.tick(now, log);
    }
    RC_ASSERT(guard.peek().state == State::kClosed);
  }));
}

}  // namespace
}  // namespace spillway::resilience
