#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/ejection.h"
#include "resilience/host_settings.h"
#include "resilience/hosts.h"
#include "resilience/outcome.h"
#include "resilience/pick.h"

// Repeat a failure with RC_PARAMS="seed=…", lengthen with RC_PARAMS="max_success=…".

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

/// One step of a schedule, in raw numbers so that it shrinks well.
struct Step {
  enum Kind : uint8_t { kCalls, kHold, kTick, kLeap, kSet, kSettings, kKinds };

  uint8_t kind = 0;
  uint8_t pick = 0;
  uint8_t amount = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << int{step.kind} << ':' << int{step.pick} << ':' << int{step.amount};
}

rc::Gen<std::vector<Step>> schedules() {
  const auto kind = rc::gen::weightedElement<uint8_t>({{10, Step::kCalls},
                                                       {3, Step::kHold},
                                                       {8, Step::kTick},
                                                       {2, Step::kLeap},
                                                       {1, Step::kSet},
                                                       {1, Step::kSettings}});
  const auto step = rc::gen::build<Step>(
      rc::gen::set(&Step::kind, kind), rc::gen::set(&Step::pick, rc::gen::arbitrary<uint8_t>()),
      rc::gen::set(&Step::amount, rc::gen::arbitrary<uint8_t>()));
  return rc::gen::scale(4.0, rc::gen::container<std::vector<Step>>(step));
}

/// Plays a schedule and checks after each step what must always hold.
class Play {
 public:
  explicit Play(const std::vector<Step>& steps) {
    set_hosts(5, 0);
    for (const Step& step : steps) {
      play(step);
      check();
    }
    for (const PickedHost& picked : held_) {
      hosts_.report(0, picked, Outcome::kOk, 1ms);
    }
    for (const HostState& state : hosts_.states()) {
      RC_ASSERT(state.in_flight == 0U);
    }
  }

 private:
  void play(const Step& step) {
    switch (step.kind) {
      case Step::kCalls:
        calls(step.pick, step.amount % 64);
        break;
      case Step::kHold:
        if (const auto picked = hosts_.pick(0, rng_.next())) {
          held_.push_back(*picked);
        }
        break;
      case Step::kTick:
        tick(100ms * (step.amount % 4));
        break;
      case Step::kLeap:
        tick(1s * (step.amount % 60) - 2s);
        break;
      case Step::kSet:
        set_hosts(step.pick % 12, step.amount % 8);
        break;
      default:
        settings_.max_ejected = (step.amount % 11) / 10.0;
        hosts_.set_settings(settings_);
        tick(0ms);
        break;
    }
  }

  /// Host `victim` and some others (by bits) fail; all failing hosts fail in the same way.
  void calls(uint8_t failing, int count) {
    for (int i = 0; i < count; ++i) {
      if (const auto picked = hosts_.pick(1, rng_.next())) {
        const bool bad = ((failing >> (picked->id % 8)) & 1) != 0;
        hosts_.report(1, *picked, bad ? Outcome::kRefused : Outcome::kOk, 20ms);
      }
    }
  }

  void tick(base::Duration by) {
    now_ += by;
    hosts_.tick(now_, events_);
  }

  void set_hosts(size_t count, uint64_t first) {
    std::vector<uint64_t> ids;
    ids.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      ids.push_back(first + i);
    }
    hosts_.set_hosts(now_, ids, events_);
  }

  void check() {
    const HostsPeek peek = hosts_.peek();
    const std::vector<HostState> states = hosts_.states();
    RC_ASSERT(states.size() == peek.hosts);
    const auto out = static_cast<size_t>(
        std::ranges::count_if(states, [](const HostState& state) { return state.ejected; }));
    RC_ASSERT(out == peek.ejected);
    RC_ASSERT(out <= most_ejected(peek.hosts, settings_.max_ejected));
    RC_ASSERT(peek.hosts == 0 || out < peek.hosts);
    RC_ASSERT(peek.panic == (2 * (peek.hosts - peek.ejected) < peek.hosts));
    for (const HostState& state : states) {
      RC_ASSERT(state.weight > 0);
      RC_ASSERT(state.weight <= 1);
      RC_ASSERT(!state.ejected || state.ejections > 0);
    }
    check_pick(states, peek.panic);
  }

  void check_pick(const std::vector<HostState>& states, bool panic) {
    const auto picked = hosts_.pick(0, rng_.next());
    RC_ASSERT(picked.has_value() == !states.empty());
    if (picked) {
      const auto state = std::ranges::find(states, picked->id, &HostState::id);
      RC_ASSERT(state != states.end());
      RC_ASSERT(panic || !state->ejected);
      hosts_.report(0, *picked, Outcome::kNotSent, {});
    }
  }

  HostSettings settings_;
  base::Instant now_{1h};
  Hosts hosts_{settings_, 2, 7, now_};
  base::Rng rng_{11};
  std::vector<HostEvent> events_;
  std::vector<PickedHost> held_;
};

TEST(HostsProperty, NeverMoreOutThanTheCapNeverTheLastAndWeightsStayInTheirRange) {
  EXPECT_TRUE(rc::check([] { Play{*schedules()}; }));
}

TEST(HostsProperty, TheCapIsRoundedDownButAtLeastOneOfTwoAndNeverAll) {
  EXPECT_TRUE(rc::check([] {
    const auto hosts = *rc::gen::inRange<size_t>(0, 65);
    const double share = *rc::gen::inRange(0, 101) / 100.0;
    const size_t most = most_ejected(hosts, share);
    RC_ASSERT(most < std::max<size_t>(hosts, 1));
    RC_ASSERT((share > 0 && hosts >= 2) == (most >= 1));
    RC_ASSERT(most <= 1 || static_cast<double>(most) <= static_cast<double>(hosts) * share + 1e-6);
  }));
}

TEST(HostsProperty, APairIsOfTheSetAndOfTwoWhenThereAreTwo) {
  EXPECT_TRUE(rc::check([](uint64_t set, uint64_t random) {
    RC_PRE(set != 0U);
    const Pair pair = draw_pair(set, random);
    RC_ASSERT(((set >> pair.first) & 1) == 1U);
    RC_ASSERT(((set >> pair.second) & 1) == 1U);
    RC_ASSERT((pair.first == pair.second) == (std::popcount(set) == 1));
  }));
}

TEST(HostsProperty, EqualFailingSharesMakeNobodySuspect) {
  EXPECT_TRUE(rc::check([] {
    const auto calls = *rc::gen::inRange<uint64_t>(50, 5000);
    const auto failures = *rc::gen::inRange<uint64_t>(0, calls + 1);
    const auto hosts = *rc::gen::inRange<size_t>(1, 20);
    std::vector<HostSample> samples(hosts, {.calls = calls, .failures = failures});
    std::vector<Suspect> suspects;
    suspect_rates(samples, {}, suspects);
    RC_ASSERT(suspects.empty());
  }));
}

}  // namespace
}  // namespace spillway::resilience
