#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::resilience {

using namespace std::chrono_literals;

/// One step of a schedule, in raw numbers so that it shrinks well.
struct Step {
  enum Kind : uint8_t { kAdmit, kFinish, kDrop, kEndTail, kTick, kMode, kSettings, kKinds };

  uint8_t kind = 0;
  uint8_t pick = 0;
  uint8_t amount = 0;
};

inline void showValue(const Step& step, std::ostream& out) {
  out << '{' << int{step.kind} << ", " << int{step.pick} << ", " << int{step.amount} << '}';
}

using Steps = std::vector<Step>;

/// Schedules of up to three times RapidCheck's size. One seed is drawn for each and expanded here:
/// drawing every number from RapidCheck costs more than playing it. Shrinks by leaving steps out.
inline rc::Gen<Steps> schedules() {
  return [](const rc::Random& random, int size) {
    // Admit, finish and tick more often than the rest: most of life is that.
    constexpr std::array<uint8_t, 7> kWeights{8, 8, 1, 4, 6, 1, 1};
    base::Rng rng(rc::Random(random).next());
    Steps steps(rng.below(static_cast<uint64_t>(size) * 3 + 8));
    for (Step& step : steps) {
      uint64_t at = rng.below(29);
      while (at >= kWeights[step.kind]) {
        at -= kWeights[step.kind++];
      }
      const uint64_t bits = rng.next();
      step.pick = static_cast<uint8_t>(bits >> 8);
      step.amount = static_cast<uint8_t>(bits >> 16);
    }
    return rc::shrinkable::shrinkRecur(
        std::move(steps), [](const Steps& longer) { return rc::shrink::removeChunks(longer); });
  };
}

enum class Twist : uint8_t {
  kNone,
  kStaleAreNeutral,  ///< A result whose epoch has passed is settled as a neutral one.
  kTickTwice,        ///< Every tick comes twice at the same time.
  kTimeGoesBack,     ///< Every tick is followed by one of an earlier time.
  kNeutralOnly,      ///< Every outcome is neutral, no operator acts.
  kGoodOnly,         ///< Every outcome is a good answer, no operator acts.
};

/// Plays a schedule against a guard beside a plain model of what must be true.
class Play {
 public:
  Play(const Steps& steps, Twist twist) : twist_(twist) {
    for (const Step& step : steps) {
      play(step);
      check();
    }
    tails_.clear();
    settled_ += calls_.size();
    calls_.clear();
    RC_ASSERT(guard_.peek().in_flight == 0);
    RC_ASSERT(outcomes(guard_.totals()) == settled_);
    check_slots();
  }

  [[nodiscard]] const std::vector<Transition>& log() const { return log_; }

  /// Steps that did something to the guard.
  [[nodiscard]] uint64_t operations() const { return operations_; }

 private:
  struct Call {
    Permit permit;
    base::Instant started{};
    base::Instant leased_until{};  ///< Of a probe.
  };

  [[nodiscard]] bool operated() const {
    return twist_ != Twist::kNeutralOnly && twist_ != Twist::kGoodOnly;
  }

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
        }
        break;
      case Step::kEndTail:
        if (!tails_.empty()) {
          tails_.erase(tails_.begin() + step.pick % static_cast<std::ptrdiff_t>(tails_.size()));
        }
        break;
      case Step::kTick:
        tick(step);
        break;
      case Step::kMode:
        if (operated()) {
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
    ++operations_;
  }

  void admit(const Step& step) {
    const uint32_t worker = step.amount % 2;
    const base::Duration offered = 10ms + step.amount * 2ms;
    auto given = guard_.admit(worker, {.now = now_, .offered = offered, .request_hash = ++hash_});
    ++attempts_;
    if (!given) {
      ++refused_;
      return;
    }
    Call call{.permit = std::move(*given), .started = now_, .leased_until = {}};
    if (call.permit.terms().how == Admitted::kProbe) {
      RC_ASSERT(guard_.peek().state == State::kHalfOpen);
      const uint32_t epoch = call.permit.terms().epoch;
      for (const Call& other : calls_) {  // 1: one token, so one probe at a time.
        RC_ASSERT(other.permit.terms().epoch != epoch || other.leased_until <= now_);
      }
      call.leased_until = now_ + std::max<base::Duration>(offered + 250ms, 500ms);
    }
    calls_.push_back(std::move(call));
  }

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
    // Half of all bad, and good ones while a recovery is under way, so that states do move.
    const State state = guard_.peek().state;
    if (state == State::kHalfOpen && step.amount % 8 != 0) {
      return Outcome::kOk;
    }
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
    if (stale && answer) {
      // Both plays let go of it here; the neutral one still brings the latency to the baselines.
      if (twist_ == Twist::kStaleAreNeutral) {
        tail.settle(now_ - call.started);
      }
      return;
    }
    tails_.push_back(std::move(tail));
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
    } else if (twist_ == Twist::kTickTwice) {
      guard_.tick(now_, log_);
    }
  }

  static uint64_t outcomes(const Totals& totals) {
    uint64_t sum = 0;
    for (const uint64_t count : totals.outcomes) {
      sum += count;
    }
    return sum;
  }

  void check() {
    const Peek seen = guard_.peek();
    RC_ASSERT(seen.in_flight == static_cast<int64_t>(calls_.size() + tails_.size()));  // 11
    RC_ASSERT(seen.epoch == first_epoch_ + log_.size());                               // 10, 13
    if (!log_.empty()) {
      RC_ASSERT(log_.back().epoch == seen.epoch);
      RC_ASSERT(log_.back().to_state == seen.state);
      RC_ASSERT(log_.back().to_mode == seen.mode);
      RC_ASSERT(!log_.back().reason.empty());
    }
    const Totals totals = guard_.totals();
    RC_ASSERT(outcomes(totals) == settled_);  // 2
    uint64_t admitted = 0;
    uint64_t refused = 0;
    for (size_t i = 0; i < 5; ++i) {
      admitted += totals.admitted[i];
      refused += totals.refused[i];
    }
    RC_ASSERT(admitted + refused == attempts_);
    RC_ASSERT(refused == refused_);
  }

  /// 11: with nothing in flight, exactly the cap can be taken.
  void check_slots() {
    std::vector<Transition> after;
    guard_.set_mode(now_, Mode::kDisabled, base::kNever, "test", after);
    guard_.set_mode(now_, Mode::kEnforce, base::kNever, "test", after);
    settings_.max_in_flight = 3;
    settings_.qps = 0;
    guard_.set_settings(settings_);
    for (int i = 0; i < 4; ++i) {
      auto given = guard_.admit(0, {.now = now_, .offered = 1h, .request_hash = ++hash_});
      RC_ASSERT(given.has_value() == (i < 3));
      calls_.push_back(
          {.permit = given ? std::move(*given) : Permit{}, .started = now_, .leased_until = {}});
    }
    calls_.clear();
  }

  Twist twist_;
  base::Instant now_{1h};
  Settings settings_{.open_min = 500ms, .open_max = 2s, .ramp = 2s, .max_in_flight = 0};
  Guard guard_{"dsp/eu/display", settings_, 2, 11, base::Instant(1h)};
  uint32_t first_epoch_ = guard_.peek().epoch;
  std::vector<Transition> log_;
  std::vector<Call> calls_;
  std::vector<Tail> tails_;
  uint64_t settled_ = 0;
  uint64_t attempts_ = 0;
  uint64_t refused_ = 0;
  uint64_t hash_ = 0;
  uint64_t operations_ = 0;
};

}  // namespace spillway::resilience
