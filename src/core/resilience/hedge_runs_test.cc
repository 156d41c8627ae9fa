// Whole runs against a backend in virtual time: what hedges cost and what they gain.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/hedge.h"
#include "resilience/outcome.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};
constexpr HedgedCall::Gates kOpenGates{.circuits_closed = true, .other_host = true};

/// Calls in virtual time: Poisson starts, a latency for each leg, every event in its order.
class Backend {
 public:
  using Latency = std::function<base::Duration(base::Instant, base::Rng&)>;

  Backend(const HedgeSettings& settings, uint64_t seed, Latency latency)
      : hedger(settings, kStart), rng(seed), latency_(std::move(latency)) {}

  void run(double rate, base::Duration length) {
    const base::Instant until = now + length;
    base::Instant next = now;
    while (true) {
      const base::Instant due = events_.empty() ? base::kNever : events_.begin()->first;
      if (std::min(due, next) >= until) {
        break;
      }
      now = std::min(due, next);
      if (due <= next) {
        const auto event = events_.begin()->second;
        events_.erase(events_.begin());
        event();
      } else {
        next += base::Duration(static_cast<int64_t>(-std::log(1 - rng.uniform()) / rate * 1e9));
        begin();
      }
    }
    now = until;
  }

  /// Hedges within `share` of the starts and `reserve`, in every 10 s that end with a hedge.
  void expect_bound(double share, double reserve) const {
    size_t old_start = 0;
    size_t old_hedge = 0;
    size_t end_start = 0;
    for (size_t i = 0; i < hedges.size(); ++i) {
      while (end_start < starts.size() && starts[end_start] <= hedges[i]) {
        ++end_start;
      }
      while (starts[old_start] <= hedges[i] - 10s) {
        ++old_start;
      }
      while (hedges[old_hedge] <= hedges[i] - 10s) {
        ++old_hedge;
      }
      ASSERT_LE(static_cast<double>(i + 1 - old_hedge),
                share * static_cast<double>(end_start - old_start) + reserve + 1e-9);
    }
  }

  Hedger hedger;
  base::Rng rng;
  base::Instant now = kStart;
  std::vector<base::Instant> starts;
  std::vector<base::Instant> hedges;
  std::vector<base::Duration> took;
  uint64_t ended = 0;
  double fails = 0;

 private:
  void begin() {
    calls_.emplace_back(hedger);
    HedgedCall& call = calls_.back();
    const base::Instant began = now;
    starts.push_back(now);
    const base::Instant timer = call.start(now, now + 1s, false);
    leg(call, Leg::kFirst, began);
    events_.emplace(now + 1s,
                    [this, &call, began] { settle(call.end(now, Outcome::kTimeout), began); });
    if (timer != base::kNever) {
      events_.emplace(timer, [this, &call, began] {
        if (call.on_timer(now, kOpenGates)) {
          call.on_sent();
          hedges.push_back(now);
          leg(call, Leg::kSecond, began);
        }
      });
    }
  }

  void leg(HedgedCall& call, Leg which, base::Instant began) {
    const Outcome outcome = rng.uniform() < fails ? Outcome::kReset : Outcome::kOk;
    events_.emplace(now + latency_(now, rng), [this, &call, which, began, outcome] {
      settle(call.on_result(now, which, outcome), began);
    });
  }

  void settle(const std::optional<HedgeEnd>& end, base::Instant began) {
    if (end) {
      ++ended;
      took.push_back(now - began);
    }
  }

  Latency latency_;
  std::deque<HedgedCall> calls_;
  std::multimap<base::Instant, std::function<void()>> events_;
};

base::Duration ms(double value) { return base::Duration(static_cast<int64_t>(value * 1e6)); }

// H4
TEST(Hedge, ALatencyThatShiftsAboveTheDelayHedgesNoMoreThanTheBudgetAndTheDelayFollows) {
  Backend backend({}, 1, [](base::Instant at, base::Rng& rng) {
    return ms((at < kStart + 60s ? 10 : 50) * std::exp(0.2 * rng.normal()));
  });
  backend.run(500, 60s);
  const base::Duration before = backend.hedger.delay().value_or(0ms);
  EXPECT_GT(before, 12ms);
  EXPECT_LT(before, 18ms);
  const size_t usual = backend.hedges.size();
  backend.run(500, 10s);
  EXPECT_LE(backend.hedges.size() - usual, 500 * 20 * 0.05 + 10) << "the shift's first ten seconds";
  backend.run(500, 50s);
  EXPECT_GT(backend.hedger.delay().value_or(0ms), 60ms);
  EXPECT_LT(backend.hedger.delay().value_or(0ms), 90ms);
  backend.expect_bound(0.05, 10);
}

// H1, H4, H5: the bound of the header, whatever latencies and failures there are.
TEST(Hedge, InAnyRunHedgesStayWithinTheirShareOfStartsAndEachCallEndsOnce) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    base::Rng shape(seed);
    const double sigma = shape.uniform(0, 1.5);
    const double shift = shape.uniform(1, 20);
    const auto period = static_cast<int64_t>(1 + shape.below(30));
    Backend backend({}, seed, [=](base::Instant at, base::Rng& rng) {
      const int64_t second = (at - kStart) / 1s;
      return ms((second / period % 2 == 0 ? 5 : 5 * shift) * std::exp(sigma * rng.normal()));
    });
    for (int part = 0; part < 6; ++part) {
      backend.fails = part % 2 == 0 ? 0 : shape.uniform();
      backend.run(std::exp(shape.uniform(0, 6)), 20s);
    }
    backend.run(1e-3, 2s);
    backend.expect_bound(0.05, 10);
    EXPECT_NEAR(static_cast<double>(backend.ended), static_cast<double>(backend.starts.size()), 1);
    EXPECT_EQ(backend.hedger.counters().fired, backend.hedges.size());
    EXPECT_LE(static_cast<double>(backend.hedges.size()),
              0.05 * static_cast<double>(backend.starts.size()) + 10 * 13);
  }
}

TEST(Hedge, ATailOfSlowHostsIsCutByFivePercentMoreCalls) {
  const auto tail = [](bool enabled) {
    Backend backend({.enabled = enabled}, 3, [](base::Instant, base::Rng& rng) {
      return ms((rng.uniform() < 0.03 ? 200 : 5) * std::exp(0.2 * rng.normal()));
    });
    backend.run(500, 60s);
    std::ranges::sort(backend.took);
    return backend.took[backend.took.size() * 98 / 100];
  };
  EXPECT_LT(tail(true) * 5, tail(false));
}

TEST(Hedge, CancelledFirstLegsDoNotPullTheDelayDown) {
  // A tenth of the first legs take 50 to 250 ms, so their p95 is 150 ms. Nearly all of those beyond
  // lose to a hedge: were they not counted, the p95 of the rest would be 64 ms, and fall on.
  Backend backend({}, 4, [](base::Instant, base::Rng& rng) {
    return ms(rng.uniform() < 0.9 ? 10 : rng.uniform(50, 250));
  });
  backend.run(500, 120s);
  EXPECT_GT(backend.hedger.delay().value_or(0ms), 130ms);
  EXPECT_LT(backend.hedger.delay().value_or(0ms), 175ms);
}

}  // namespace
}  // namespace spillway::resilience
