#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/leaf_test.h"
#include "resilience/limiter.h"
#include "resilience/limiter_window.h"
#include "resilience/outcome.h"
#include "resilience/queue_server_test.h"

// Rows L1 to L16 of the public faults of limiters: the wrong result in netflix mode where the row
// shows one there, the right one in ours.

namespace spillway::resilience {
namespace {

using Algorithm = LimiterSettings::Algorithm;

/// A limiter and a stream of calls at full load, 200 a second.
struct Stream {
  explicit Stream(const LimiterSettings& settings)
      : netflix(settings.netflix), limiter(make_limiter(settings)) {}

  bool netflix;
  std::unique_ptr<Limiter> limiter;
  base::Instant now{1h};
  base::Duration gap = 5ms;
  LimiterWindowBuilder window{now};

  /// in_flight 0: the whole limit is in use.
  Stream& calls(int count, base::Duration latency, bool dropped = false, uint32_t in_flight = 0) {
    for (int i = 0; i < count; ++i) {
      now += gap;
      const uint32_t used = in_flight == 0 ? limiter->limit() : in_flight;
      if (netflix) {
        limiter->observe(LimiterWindow::of_call(now, latency, used, dropped));
        continue;
      }
      window.add_call(latency, used, limiter->uncongested_most(), dropped);
      if (const auto closed = window.close(now)) {
        limiter->observe(*closed);
      }
    }
    return *this;
  }

  [[nodiscard]] double limit() const { return limiter->exact(); }
};

LimiterSettings netflix(Algorithm algorithm, uint32_t initial, uint32_t max) {
  return {.algorithm = algorithm, .netflix = true, .max = max, .initial = initial};
}

LimiterSettings ours(Algorithm algorithm, uint32_t initial = 100, uint32_t max = 1000) {
  return {.algorithm = algorithm, .max = max, .initial = initial};
}

constexpr Algorithm kSafe[] = {Algorithm::kLatency, Algorithm::kVegas, Algorithm::kGradient2,
                               Algorithm::kAimd};

// L1
TEST(LimiterTraps, OneLuckyCallIsNotABaseline) {
  Stream wrong(netflix(Algorithm::kVegas, 100, 1000));
  wrong.calls(50, 300ms, false, 40).calls(1, 150ms, false, 40).calls(200, 300ms);
  EXPECT_LT(wrong.limit(), 20);
  for (const Algorithm algorithm : kSafe) {
    Stream right(ours(algorithm));
    right.calls(1000, 300ms, false, 40).calls(1, 150ms, false, 40).calls(1000, 300ms);
    EXPECT_GE(right.limit(), 100);
  }
}

// L2
TEST(LimiterTraps, ASteadyOverloadIsNeverLearntAsTheUnloadedLatency) {
  LimiterSettings probing = netflix(Algorithm::kVegas, 20, 1000);
  Stream wrong(probing);
  wrong.calls(20, 100ms, false, 5).calls(60, 1s);
  const double low = wrong.limit();
  wrong.calls(3000, 1s);
  EXPECT_GT(wrong.limit(), low * 3);
  for (const Algorithm algorithm : kSafe) {
    Stream right(ours(algorithm));
    right.calls(2000, 100ms, false, 20);
    const double before = right.limit();
    double most = 0;
    for (int i = 0; i < 600; ++i) {
      most = std::max(most, right.calls(200, 1s).limit());
    }
    EXPECT_LE(most, before);
    EXPECT_LE(right.limit(), 20);
  }
}

// L3
TEST(LimiterTraps, TimeoutsAlwaysCut) {
  Stream wrong(netflix(Algorithm::kGradient2, 20, 200));
  wrong.calls(1000, 1s, true);
  EXPECT_GT(wrong.limit(), 50);
  for (const Algorithm algorithm : kSafe) {
    EXPECT_EQ(Stream(ours(algorithm)).calls(4000, 1s, true).limit(), 4);
  }
}

// L4
TEST(LimiterTraps, FastFailuresAreNotLatencies) {
  Stream wrong(netflix(Algorithm::kVegas, 60, 1000));
  wrong.calls(300, 100ms, false, 10).calls(4, 1ms);
  const double before = wrong.limit();
  wrong.calls(20, 1ms);
  EXPECT_GE(wrong.limit(), before + 20);
  // A guard samples answers only: a server error in a millisecond is none.
  Leaf leaf({.limiter = Algorithm::kLatency});
  leaf.calls(300, Outcome::kOk, 10ms);
  const base::Duration before_p50 = leaf.guard.peek().p50;
  for (int i = 0; i < 5; ++i) {
    leaf.call(Outcome::kServerError, 1us);
  }
  leaf.pass(2s);
  EXPECT_EQ(leaf.guard.peek().p50, before_p50);
}

// L5
TEST(LimiterTraps, AStretchedLatencyNeverGrowsTheLimitByItsHeadroom) {
  Stream wrong(netflix(Algorithm::kGradient2, 20, 200));
  wrong.calls(20, 100ms, false, 5);
  wrong.calls(2000, 125ms);
  EXPECT_EQ(wrong.limit(), 200);
  for (const Algorithm algorithm :
       {Algorithm::kLatency, Algorithm::kVegas, Algorithm::kGradient2}) {
    Stream right(ours(algorithm));
    right.calls(2000, 100ms, false, 20);
    const double before = right.limit();
    right.calls(20'000, 150ms);
    EXPECT_LE(right.limit(), before * 1.05);
  }
}

// L6
TEST(LimiterTraps, HoursAtAnIncidentsLatencyAboveTheHealthyMaximumAreNotLearnt) {
  for (const Algorithm algorithm : kSafe) {
    Stream right(ours(algorithm));
    right.calls(2000, 100ms, false, 20);
    right.calls(200 * 3600, 900ms);
    EXPECT_LE(right.limit(), 20);
  }
}

// L8
TEST(LimiterTraps, FewCallsAreCarriedOverAndDropsAloneUpdate) {
  Stream few(ours(Algorithm::kLatency));
  few.gap = 300ms;
  few.calls(100, 100ms, false, 20);
  const double before = few.limit();
  few.calls(100, 100ms);
  EXPECT_GT(few.limit(), before) << "three calls a second still make windows";
  Stream drops(ours(Algorithm::kLatency));
  drops.gap = 3s;
  drops.calls(30, 1s, true);
  EXPECT_LT(drops.limit(), 10);
}

// L9
TEST(LimiterTraps, AFastDependencyAtLowConcurrencyKeepsItsMinimumAndAnIdleOneAlwaysAdmits) {
  for (const Algorithm algorithm : kSafe) {
    Stream fast(ours(algorithm, 4));
    fast.gap = 100us;
    fast.calls(100'000, 25us, false, 1);
    EXPECT_GE(fast.limit(), 4);
  }
  Leaf leaf({.max_in_flight = 64, .limiter = Algorithm::kLatency, .limit_min = 1});
  for (int i = 0; i < 2000 && leaf.guard.peek().limit > 1; ++i) {
    leaf.call(Outcome::kOverload, 1ms);
    leaf.call(Outcome::kOk, 1ms);
    leaf.pass(100ms);
  }
  EXPECT_EQ(leaf.guard.peek().limit, 1U);
  EXPECT_TRUE(leaf.admit().has_value());
}

// L10
TEST(LimiterTraps, JitterNeitherStarvesNorUnbounds) {
  for (const Algorithm algorithm : kSafe) {
    base::Rng rng(3);
    Stream jumpy(ours(algorithm, 100, 200));
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < 200'000; ++i) {
      const double ms = 50 * std::exp(0.8 * rng.normal());
      jumpy.calls(1, base::Duration(static_cast<int64_t>(ms * 1e6)), false, 30);
      least = std::min(least, jumpy.limit());
    }
    EXPECT_GE(least, 30);
    EXPECT_LE(jumpy.limit(), 200);
  }
}

// L11
TEST(LimiterTraps, NothingIsEverPinnedToMeasure) {
  for (const Algorithm algorithm : kSafe) {
    Stream steady(ours(algorithm));
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < 3600; ++i) {
      least = std::min(least, steady.calls(200, 100ms, false, 40).limit());
    }
    EXPECT_GE(least, 100);
  }
}

// L12
TEST(LimiterTraps, CallsBegunUnderLoadDoNotRaiseTheBaseline) {
  Stream right(ours(Algorithm::kVegas, 100, 100));
  right.calls(4000, 100ms, false, 20);
  // One call in twenty begins with a free dependency, the rest waits: for half an hour.
  for (int i = 0; i < 18'000; ++i) {
    right.calls(1, 100ms, false, 20).calls(19, 200ms);
  }
  EXPECT_LT(right.limit(), 60) << "the waiting is still seen as a queue";
}

// L13
TEST(LimiterTraps, WindowsNeedNoTimerAndGoOnAfterAnyPause) {
  Stream paused(ours(Algorithm::kLatency));
  paused.calls(1000, 100ms, false, 20);
  paused.now += 24h;
  const double before = paused.calls(400, 100ms, false, 20).limit();
  EXPECT_LT(paused.calls(1000, 1s, true).limit(), before);
}

// L14
TEST(LimiterTraps, ASustainedDegradationIsNotTheNewNormal) {
  Stream wrong(netflix(Algorithm::kVegas, 20, 1000));
  wrong.calls(20, 10ms, false, 5).calls(60, 40ms);
  const double cut = wrong.limit();
  wrong.calls(5000, 40ms);
  EXPECT_GT(wrong.limit(), cut * 2);
  Stream right(ours(Algorithm::kVegas));
  right.calls(2000, 10ms, false, 20);
  right.gap = 400us;  // In flight = rate × latency, or there is no such queue.
  right.calls(150'000, 40ms);
  EXPECT_LT(right.limit(), 20) << "a minute on";
}

// L15
TEST(LimiterTraps, AnswersOf429CutAndHoldWithoutOscillation) {
  const auto limiter = make_limiter(ours(Algorithm::kLatency, 50));
  QueueServer server(*limiter, 5);
  server.servers = 100;
  server.service = fixed_service(50);
  server.rate = 3000;
  server.buffer = 0;
  server.run(240);
  const auto range = server.last(120);
  EXPECT_NEAR(range.mean, 100, 20);
  EXPECT_GE(range.low, range.mean * 0.85);
  EXPECT_LE(range.high, range.mean * 1.15);
}

// L16
TEST(LimiterTraps, HeadroomAboveTheCallsInFlightIsAtLeastTheirRoot) {
  for (const Algorithm algorithm : kSafe) {
    Stream steady(ours(algorithm, 20));
    for (int i = 0; i < 600; ++i) {
      steady.calls(200, 100ms, false, 50);
    }
    EXPECT_GE(steady.limit(), 50 + std::sqrt(50));
  }
}

// C5: a clock that stands still.
TEST(LimiterTraps, LatenciesOfZeroAreSafe) {
  for (const Algorithm algorithm : kSafe) {
    Stream still(ours(algorithm));
    still.calls(2000, 0ns);
    EXPECT_GE(still.limit(), 100);
    if (algorithm != Algorithm::kLatency) {
      Stream there(netflix(algorithm, 20, 200));
      there.calls(20, 0ns);
      EXPECT_GE(there.limit(), 20);
    }
  }
}

TEST(SlowLeak, ShrinksTheLimitAndAtTheCeilingTripsTheBreaker) {
  const auto limiter = make_limiter(ours(Algorithm::kLatency, 0, 512));
  QueueServer server(*limiter, 9);
  server.servers = 10'000;
  server.rate = 400;
  server.service = lognormal_service(100, 0.3);
  server.run(120);
  EXPECT_EQ(limiter->limit(), 512U);
  for (int i = 0; i < 480; ++i) {
    server.stretch = 1 + 7.0 * i / 480;
    server.run(1);
    if (server.stretch < 4 && server.stretch > 3.9) {
      EXPECT_LT(limiter->limit(), 140U) << "without a limit 160 were in flight";
    }
  }
  EXPECT_LT(limiter->limit(), 20U);
}

}  // namespace
}  // namespace spillway::resilience
