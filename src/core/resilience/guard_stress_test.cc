#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kWorkers = 3;
constexpr int64_t kCap = 8;

/// Three workers hammer one guard while a fourth thread ticks, changes settings and modes.
struct Stress {
  Guard guard{"dsp/eu/display",
              {.open_min = 200ms, .open_max = 400ms, .ramp = 1s, .max_in_flight = kCap},
              kWorkers,
              3,
              base::Instant(1h)};
  std::atomic<int64_t> now_ns{base::Instant(1h).time_since_epoch().count()};
  std::atomic<bool> stop{false};
  std::atomic<int> bad_percent{0};
  std::atomic<int64_t> held{0};
  std::atomic<int64_t> most_held{0};
  std::array<std::atomic<int>, 4096> probes_of_epoch{};
  std::atomic<bool> two_probes{false};
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> probes{0};

  [[nodiscard]] base::Instant now() const { return base::Instant(base::Duration(now_ns.load())); }

  void work(uint32_t worker) {
    base::Rng rng(worker + 1);
    std::vector<Tail> zombies;
    while (!stop.load(std::memory_order_relaxed)) {
      calls.fetch_add(1, std::memory_order_relaxed);
      // A long budget, so that no lease runs out while its probe is held.
      auto permit = guard.admit(worker, {.now = now(), .offered = 1h, .request_hash = rng.next()});
      if (!permit) {
        zombies.clear();
        std::this_thread::yield();
        continue;
      }
      const Terms terms = permit->terms();
      auto& probing = probes_of_epoch[terms.epoch % probes_of_epoch.size()];
      if (terms.how == Admitted::kProbe) {
        probes.fetch_add(1, std::memory_order_relaxed);
        two_probes = two_probes || probing.fetch_add(1) != 0;
      }
      const int64_t holding = held.fetch_add(1) + 1;
      if (terms.how != Admitted::kShadow && holding > most_held) {
        most_held = holding;
      }
      if (rng.below(20) == 0) {
        std::this_thread::yield();
      }
      const bool bad = rng.below(100) < static_cast<uint64_t>(bad_percent.load());
      if (terms.how == Admitted::kProbe) {
        probing.fetch_sub(1);
      }
      // Uncounted here before the guard lets go: the guard's own count can only be larger.
      held.fetch_sub(1);
      Tail tail = permit->finish(now(), bad ? Outcome::kServerError : Outcome::kOk);
      if (rng.below(10) == 0 && zombies.size() < 2) {
        zombies.push_back(std::move(tail));
      } else if (rng.below(4) == 0) {
        zombies.clear();
      }
    }
  }

  std::vector<Transition> drive(int ticks) {
    std::vector<Transition> log;
    base::Rng rng(99);
    for (int i = 0; i < ticks; ++i) {
      bad_percent = i / 40 % 2 == 0 ? 0 : 90;
      now_ns.fetch_add(base::Duration(100ms).count());
      guard.tick(now(), log);
      if (rng.below(50) == 0) {
        const auto mode = rng.below(2) == 0 ? Mode::kForcedOpen : Mode::kEnforce;
        guard.set_mode(now(), mode, now() + 300ms, "stress", log);
      }
      if (rng.below(20) == 0) {
        guard.set_settings({.open_min = 200ms,
                            .open_max = 400ms,
                            .ramp = 1s,
                            .max_in_flight = kCap,
                            .qps = rng.below(2) == 0 ? 0U : 100'000U});
      }
      static_cast<void>(guard.peek());
      static_cast<void>(guard.totals());
      // Let the workers do something between ticks: progress, not time.
      const uint64_t seen = calls.load();
      while (calls.load() < seen + 60) {
        std::this_thread::yield();
      }
    }
    return log;
  }
};

TEST(GuardStress, NeverTwoProbesInAnEpochNeverOverTheCapNothingLeaks) {
  Stress stress;
  const uint32_t first = stress.guard.peek().epoch;
  std::vector<std::thread> workers;
  for (uint32_t i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&stress, i] { stress.work(i); });
  }
  const std::vector<Transition> log = stress.drive(2000);
  stress.stop = true;
  for (std::thread& worker : workers) {
    worker.join();
  }
  EXPECT_FALSE(stress.two_probes);
  EXPECT_LE(stress.most_held, kCap);
  EXPECT_GT(stress.probes, 20U) << "the test must see probes to mean anything";
  EXPECT_GT(log.size(), 20U);
  EXPECT_EQ(stress.guard.peek().epoch, first + log.size());
  EXPECT_EQ(stress.guard.peek().in_flight, 0);
  const Totals totals = stress.guard.totals();
  uint64_t admitted = 0;
  uint64_t refused = 0;
  uint64_t outcomes = 0;
  for (size_t i = 0; i < 5; ++i) {
    admitted += totals.admitted[i];
    refused += totals.refused[i];
  }
  for (const uint64_t count : totals.outcomes) {
    outcomes += count;
  }
  EXPECT_EQ(outcomes, admitted);
  EXPECT_EQ(admitted + refused, stress.calls);
}

}  // namespace
}  // namespace spillway::resilience
