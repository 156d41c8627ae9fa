#include "resilience/shedder.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/problem.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

/// A worker in virtual time: one queue, one server, Poisson arrivals of four classes. A request
/// costs 0.5 ms (exponential) when admitted, a tenth of that at level 1, a hundredth at level 2.
struct Worker {
  static constexpr double kCostMs = 0.5;

  struct Request {
    base::Instant arrived;
    size_t rank;
  };

  Worker(double times_capacity, uint64_t seed, const ShedSettings& settings = {})
      : shedder(settings), load(times_capacity), rng(seed) {}

  Shedder shedder;
  double load;
  base::Rng rng;
  std::array<double, kCriticalities> mix{0.1, 0.2, 0.3, 0.4};
  base::Instant now = kStart;
  std::deque<Request> queue;
  std::vector<double> ages_ms;  ///< Of every request that leaves the queue.
  std::array<double, kCriticalities> offered{};
  std::array<double, kCriticalities> admitted{};

  static base::Duration ms(double value) {
    return base::Duration(static_cast<int64_t>(value * 1e6));
  }

  [[nodiscard]] double exponential(double mean) { return -std::log(1 - rng.uniform()) * mean; }

  void arrivals_until(base::Instant until) {
    while (next_arrival_ <= until) {
      double pick = rng.uniform();
      size_t rank = 0;
      while (rank + 1 < kCriticalities && pick >= mix[rank]) {
        pick -= mix[rank++];
      }
      queue.push_back({next_arrival_, rank});
      next_arrival_ += ms(exponential(kCostMs / load));
    }
  }

  void run(base::Duration length) {
    const base::Instant until = now + length;
    next_arrival_ = std::max(next_arrival_, now);
    while (now < until) {
      arrivals_until(now);
      if (queue.empty()) {
        now = next_arrival_;
        continue;
      }
      const Request request = queue.front();
      queue.pop_front();
      const base::Duration age = now - request.arrived;
      ages_ms.push_back(base::to_ms(age));
      ++offered[request.rank];
      const auto decision = shedder.decide(now, age, 1, static_cast<Criticality>(request.rank));
      double cost = kCostMs;
      if (decision.shed == Shed::kAdmit) {
        ++admitted[request.rank];
        cost = exponential(kCostMs);
      } else {
        cost *= decision.shed == Shed::kLevel1 ? 0.1 : 0.01;
      }
      now += ms(cost);
    }
  }

  void forget() {
    ages_ms.clear();
    offered = admitted = {};
  }

  [[nodiscard]] double age_ms(double quantile) {
    std::ranges::sort(ages_ms);
    return ages_ms[static_cast<size_t>(quantile * static_cast<double>(ages_ms.size() - 1))];
  }

  [[nodiscard]] double admitted_share(size_t rank) const { return admitted[rank] / offered[rank]; }

  [[nodiscard]] double goodput(base::Duration length) const {
    double sum = 0;
    for (const double calls : admitted) {
      sum += calls;
    }
    return sum * kCostMs / base::to_ms(length);
  }

 private:
  base::Instant next_arrival_{};
};

void expect_first_classes_served(const Worker& worker) {
  double room = 0.9;
  for (size_t rank = 0; rank < kCriticalities; ++rank) {
    room -= worker.mix[rank] * worker.load;
    if (room > 0.01) {  // one that just fits is for chance to decide
      EXPECT_GE(worker.admitted_share(rank), 0.9) << "class " << rank << " fits";
    }
    if (rank > 0) {
      EXPECT_LT(worker.admitted_share(rank), worker.admitted_share(rank - 1));
    }
  }
  EXPECT_GE(worker.admitted_share(0), 0.97);
}

TEST(Shedder, AnOverloadedWorkerKeepsItsGoodputAndAShortQueueAndServesTheFirstClasses) {
  std::printf("load goodput age_p50 age_p99 ms  admitted by class\n");
  for (const double load : {1.5, 2.0, 3.0}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(testing::Message() << load << " times capacity, seed " << seed);
      Worker worker(load, seed);
      worker.run(2s);
      worker.forget();
      worker.run(20s);
      EXPECT_GE(worker.goodput(20s), 0.9);
      EXPECT_LE(worker.age_ms(0.5), 2 * 5) << "target 5 ms";
      EXPECT_LE(worker.age_ms(0.99), 4 * 5);
      expect_first_classes_served(worker);
      std::printf("%.1f %.3f %.1f %.1f  %.3f %.3f %.3f %.3f\n", load, worker.goodput(20s),
                  worker.age_ms(0.5), worker.age_ms(0.99), worker.admitted_share(0),
                  worker.admitted_share(1), worker.admitted_share(2), worker.admitted_share(3));
    }
  }
}

TEST(Shedder, OneClassAloneIsShedDownToCapacity) {
  for (size_t only = 0; only < kCriticalities; ++only) {
    Worker worker(3, 1);
    worker.mix = {};
    worker.mix[only] = 1;
    worker.run(2s);
    worker.forget();
    worker.run(10s);
    EXPECT_GE(worker.goodput(10s), 0.9) << only;
    EXPECT_LE(worker.age_ms(0.99), 20) << only;
  }
}

TEST(Shedder, AWorkerBelowCapacityShedsNearlyNothing) {
  Worker worker(0.8, 1);
  worker.run(60s);
  EXPECT_GE(worker.admitted[3] / worker.offered[3], 0.999);
  EXPECT_EQ(worker.admitted[0], worker.offered[0]);
}

TEST(Shedder, WhenTheLoadFallsSheddingEnds) {
  Worker worker(3, 1);
  worker.run(3s);
  EXPECT_GT(worker.shedder.firmness(), 4U);
  EXPECT_NE(worker.shedder.level(), Shed::kAdmit);
  worker.load = 0.7;
  worker.run(1s);
  EXPECT_EQ(worker.shedder.firmness(), 0U);
  EXPECT_EQ(worker.shedder.level(), Shed::kAdmit);
  worker.forget();
  worker.run(5s);
  EXPECT_GT(worker.goodput(5s), 0.6);
  EXPECT_EQ(worker.admitted[3], worker.offered[3]);
}

/// Requests of one age, one each millisecond.
Shedder::Decision steady(Shedder& shedder, base::Instant& now, base::Duration age,
                         base::Duration length, Criticality criticality) {
  Shedder::Decision last;
  for (base::Instant end = now + length; now < end; now += 1ms) {
    last = shedder.decide(now, age, 1, criticality);
  }
  return last;
}

TEST(Shedder, ABurstShorterThanTheIntervalPassesWhole) {
  Shedder shedder(ShedSettings{});
  base::Instant now = kStart;
  for (int i = 0; i < 20; ++i) {
    steady(shedder, now, 20ms, 80ms, Criticality::kSheddable);
    steady(shedder, now, 1ms, 20ms, Criticality::kSheddable);
  }
  EXPECT_EQ(shedder.counters().admitted[3], 2000U);
  EXPECT_EQ(shedder.firmness(), 0U);
}

TEST(Shedder, AStandingQueueIsShedMoreFirmlyByTheControlLawAndTheLastClassFirst) {
  Shedder shedder(ShedSettings{});
  base::Instant now = kStart;
  steady(shedder, now, 9ms, 150ms, Criticality::kSheddable);
  EXPECT_EQ(shedder.firmness(), 1U);
  EXPECT_EQ(shedder.decide(now, 9ms, 1, Criticality::kSheddable).shed, Shed::kAdmit)
      << "5 ms + 100 ms / 16";
  steady(shedder, now, 9ms, 260ms, Criticality::kSheddable);
  ASSERT_GE(shedder.firmness(), 3U);
  EXPECT_EQ(shedder.decide(now, 9ms, 1, Criticality::kSheddable).shed, Shed::kLevel1);
  steady(shedder, now, 9ms, 1s, Criticality::kSheddable);
  EXPECT_EQ(shedder.firmness(), 16U);
  const auto shed = [&](Criticality criticality) {
    const auto decision = shedder.decide(now, 9ms, 1, criticality);
    EXPECT_TRUE(decision.shed == Shed::kAdmit || decision.reason == ShedReason::kStandingQueue);
    return decision.shed;
  };
  EXPECT_EQ(shed(Criticality::kSheddable), Shed::kLevel2);
  EXPECT_EQ(shed(Criticality::kSheddablePlus), Shed::kLevel2);
  EXPECT_EQ(shed(Criticality::kCritical), Shed::kAdmit);
  EXPECT_EQ(shed(Criticality::kCriticalPlus), Shed::kAdmit);
  EXPECT_EQ(shedder.decide(now, 5ms, 1, Criticality::kSheddable).shed, Shed::kAdmit)
      << "not older than the target";
}

TEST(Shedder, AQueueFoundEmptyIsNoStandingQueueHoweverSlowEachRequestIs) {
  Shedder shedder(ShedSettings{});
  for (int i = 0; i < 1000; ++i) {
    // Each waits 8 ms for the one before it, which takes 20 ms.
    shedder.decide(kStart + i * 20ms, 8ms, 1, Criticality::kSheddable);
  }
  EXPECT_EQ(shedder.counters().admitted[3], 1000U);
}

TEST(Shedder, HardLimitsShedTheLastClassFirstAndLevelTwoAboveLevelOne) {
  Shedder shedder({.level1 = {.in_flight = 100, .queue_age = 30ms},
                   .level2 = {.in_flight = 200, .queue_age = 80ms}});
  const auto in_flight = [&](uint32_t calls, Criticality criticality) {
    const auto decision = shedder.decide(kStart, 0ms, calls, criticality);
    EXPECT_TRUE(decision.shed == Shed::kAdmit || decision.reason == ShedReason::kInFlight);
    return decision.shed;
  };
  EXPECT_EQ(in_flight(69, Criticality::kSheddable), Shed::kAdmit);
  EXPECT_EQ(in_flight(70, Criticality::kSheddable), Shed::kLevel1);
  EXPECT_EQ(in_flight(99, Criticality::kCriticalPlus), Shed::kAdmit);
  EXPECT_EQ(in_flight(100, Criticality::kCriticalPlus), Shed::kLevel1);
  EXPECT_EQ(in_flight(140, Criticality::kSheddable), Shed::kLevel2);
  EXPECT_EQ(in_flight(200, Criticality::kCriticalPlus), Shed::kLevel2);
  const auto aged = [&](base::Duration age, Criticality criticality) {
    const auto decision = shedder.decide(kStart, age, 1, criticality);
    EXPECT_TRUE(decision.shed == Shed::kAdmit || decision.reason == ShedReason::kQueueAge);
    return decision.shed;
  };
  EXPECT_EQ(aged(30ms, Criticality::kCriticalPlus), Shed::kAdmit);
  EXPECT_EQ(aged(31ms, Criticality::kCriticalPlus), Shed::kLevel1);
  EXPECT_EQ(aged(22ms, Criticality::kSheddable), Shed::kLevel1);
  EXPECT_EQ(aged(57ms, Criticality::kSheddable), Shed::kLevel2);
  EXPECT_EQ(aged(81ms, Criticality::kCriticalPlus), Shed::kLevel2);
}

TEST(Shedder, ALimitOfOneStillAdmitsOneOfEveryClass) {
  Shedder shedder({.level1 = {.in_flight = 1, .queue_age = 30ms},
                   .level2 = {.in_flight = 1, .queue_age = 80ms}});
  for (size_t rank = 0; rank < kCriticalities; ++rank) {
    const auto criticality = static_cast<Criticality>(rank);
    EXPECT_EQ(shedder.decide(kStart, 0ms, 0, criticality).shed, Shed::kAdmit) << rank;
    EXPECT_EQ(shedder.decide(kStart, 0ms, 1, criticality).shed, Shed::kLevel2) << rank;
  }
}

/// A thousand requests a second that have all waited `age`, for `time` from `now` on.
void queue_stands(Shedder& shedder, base::Instant& now, base::Duration age, base::Duration time) {
  for (const base::Instant end = now + time; now < end; now += 1ms) {
    shedder.decide(now, age, 1, Criticality::kSheddable);
  }
}

TEST(Shedder, AQueueThatIsNoOlderThanTheTargetDoesNotStand) {
  Shedder shedder(ShedSettings{});
  base::Instant now = kStart;
  queue_stands(shedder, now, 5ms, 2s);
  queue_stands(shedder, now, 20ms, 1ms);
  EXPECT_EQ(shedder.counters().admitted[3], 2001U);
  queue_stands(shedder, now, 6ms, 300ms);
  EXPECT_EQ(shedder.decide(now, 20ms, 1, Criticality::kSheddable).shed, Shed::kLevel1);
}

TEST(Shedder, ALongPauseEndsSheddingAndWhatItSaysToHedges) {
  Shedder shedder(ShedSettings{});
  base::Instant now = kStart;
  queue_stands(shedder, now, 20ms, 2s);
  ASSERT_EQ(shedder.level(), Shed::kLevel2);
  now += 10s;
  shedder.decide(now, 0ms, 1, Criticality::kSheddable);
  EXPECT_EQ(shedder.level(), Shed::kAdmit);
  EXPECT_EQ(shedder.decide(now, 20ms, 1, Criticality::kSheddable).shed, Shed::kAdmit)
      << "as many windows with an empty queue as the pause was long";
}

TEST(Shedder, TheLevelIsTheHighestOfThisWindowAndTheOneBefore) {
  Shedder shedder(ShedSettings{});
  EXPECT_EQ(shedder.level(), Shed::kAdmit);
  shedder.decide(kStart, 81ms, 1, Criticality::kCriticalPlus);
  EXPECT_EQ(shedder.level(), Shed::kLevel2);
  shedder.decide(kStart + 1ms, 31ms, 1, Criticality::kCriticalPlus);
  EXPECT_EQ(shedder.level(), Shed::kLevel2) << "a lower one does not take it back";
  shedder.decide(kStart + 101ms, 0ms, 1, Criticality::kCriticalPlus);
  EXPECT_EQ(shedder.level(), Shed::kLevel2) << "the window before";
  shedder.decide(kStart + 202ms, 0ms, 1, Criticality::kCriticalPlus);
  EXPECT_EQ(shedder.level(), Shed::kAdmit);
}

TEST(Shedder, ATimeThatGoesBackHidesNoStandingQueue) {
  Shedder shedder(ShedSettings{});
  base::Instant now = kStart;
  uint64_t shed = 0;
  for (const base::Instant end = now + 2s; now < end; now += 1ms) {
    const auto decision = shedder.decide(now, 20ms, 1, Criticality::kSheddable);
    shed += decision.shed == Shed::kAdmit ? 0 : 1;
    shedder.decide(now - 50ms, 20ms, 1, Criticality::kSheddable);
  }
  EXPECT_GT(shed, 1500U);
}

TEST(Shedder, EveryDecisionIsCountedOnceWithItsReasonAndTimeGoingBackIsSafe) {
  base::Rng rng(7);
  Shedder shedder(ShedSettings{});
  base::Instant now = kStart;
  for (int i = 0; i < 50'000; ++i) {
    now += base::Duration(static_cast<int64_t>(rng.below(2'000'000)) - 500'000);
    shedder.decide(now, base::Duration(static_cast<int64_t>(rng.below(100'000'000))),
                   static_cast<uint32_t>(rng.below(5000)), static_cast<Criticality>(rng.below(4)));
  }
  uint64_t sum = 0;
  for (size_t rank = 0; rank < kCriticalities; ++rank) {
    sum += shedder.counters().admitted[rank];
    for (const auto& level : shedder.counters().shed[rank]) {
      EXPECT_EQ(level[0], 0U);
      sum += level[1] + level[2] + level[3];
    }
  }
  EXPECT_EQ(sum, 50'000U);
}

TEST(Shedder, SettingsOutsideTheirRangesAreNamed) {
  EXPECT_TRUE(validate(ShedSettings{}).empty());
  const auto problems = validate(ShedSettings{.target = 0ms,
                                              .interval = 11s,
                                              .level1 = {.in_flight = 0, .queue_age = 61s},
                                              .level2 = {.in_flight = 2'000'000, .queue_age = 1s}});
  std::string keys;
  for (const Problem& problem : problems) {
    keys += problem.key + ' ';
  }
  EXPECT_EQ(keys,
            "target interval level1.in_flight level1.queue_age level2.in_flight level2.queue_age ");
  EXPECT_EQ(validate(ShedSettings{.interval = 9ms})[0].key, "interval") << "two targets at least";
}

}  // namespace
}  // namespace spillway::resilience
