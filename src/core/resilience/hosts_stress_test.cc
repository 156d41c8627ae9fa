#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/ejection.h"
#include "resilience/host_settings.h"
#include "resilience/hosts.h"
#include "resilience/outcome.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kWorkers = 3;

/// Three workers call hosts of a changing set, some of which fail, while a fourth thread ticks.
struct Stress {
  Hosts hosts{HostSettings{}, kWorkers, 5, base::Instant(1h)};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> failing{0};  ///< Hosts by bit.
  std::atomic<uint64_t> calls{0};
  std::atomic<bool> unknown_host{false};

  void work(uint32_t worker) {
    base::Rng rng(worker + 1);
    std::vector<PickedHost> held;
    while (!stop.load(std::memory_order_relaxed)) {
      const uint64_t random = rng.next();
      if (random % 4 == 0) {
        pick_by_parts(worker, random, held);
      } else if (const auto picked = hosts.pick(worker, random)) {
        unknown_host = unknown_host || picked->id >= 100;
        held.push_back(*picked);
      }
      if (held.size() >= 8) {
        const size_t at = rng.below(held.size());
        settle(worker, held[at]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
      }
      calls.fetch_add(1, std::memory_order_relaxed);
    }
    for (const PickedHost& picked : held) {
      settle(worker, picked);
    }
  }

  /// A worker that knows two hosts of the set, or thinks so.
  void pick_by_parts(uint32_t worker, uint64_t random, std::vector<PickedHost>& held) {
    uint64_t among = 0;
    for (const uint64_t id : {random / 4 % 100, random / 512 % 100}) {
      const auto slot = hosts.slot_of(id);
      among |= slot ? uint64_t{1} << *slot : 0;
    }
    const uint64_t usable = among & hosts.usable().all;
    if (among != 0) {
      held.push_back(hosts.begin(worker, hosts.draw(worker, random, usable != 0 ? usable : among)));
    }
  }

  void settle(uint32_t worker, const PickedHost& picked) {
    const bool bad = ((failing.load(std::memory_order_relaxed) >> (picked.id % 64)) & 1) != 0;
    hosts.report(worker, picked, bad ? Outcome::kReset : Outcome::kOk, 20ms);
  }

  /// The ids in use overlap from set to set and come from 100: places are reused.
  void change_set(base::Rng& rng, base::Instant now, std::vector<HostEvent>& log) {
    std::vector<uint64_t> ids;
    ids.reserve(22);
    const uint64_t first = rng.below(90);
    const uint64_t count = 2 + rng.below(20);
    for (uint64_t i = 0; i < count; ++i) {
      ids.push_back((first + i) % 100);
    }
    hosts.set_hosts(now, ids, log);
  }

  std::vector<HostEvent> drive(int ticks) {
    std::vector<HostEvent> log;
    base::Rng rng(99);
    base::Instant now(1h);
    for (int i = 0; i < ticks; ++i) {
      now += 500ms;
      if (i % 20 == 0) {
        change_set(rng, now, log);
      }
      if (i % 10 == 0) {
        failing = rng.next() & rng.next() & rng.next();
      }
      hosts.tick(now, log);
      const HostsPeek peek = hosts.peek();
      EXPECT_LE(peek.ejected, most_ejected(peek.hosts, 0.3));
      // Let the workers do something between ticks: progress, not time.
      const uint64_t seen = calls.load();
      while (calls.load() < seen + 60) {
        std::this_thread::yield();
      }
    }
    return log;
  }
};

TEST(HostsStress, NothingLeaksAndTheCapHoldsWhileTheSetChangesUnderTheWorkers) {
  Stress stress;
  std::vector<std::thread> workers;
  workers.reserve(kWorkers);
  for (uint32_t i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&stress, i] { stress.work(i); });
  }
  const std::vector<HostEvent> log = stress.drive(300);
  stress.stop = true;
  for (std::thread& worker : workers) {
    worker.join();
  }
  EXPECT_FALSE(stress.unknown_host);
  EXPECT_GT(log.size(), 20U) << "the test must see ejections to mean anything";
  for (const HostState& state : stress.hosts.states()) {
    EXPECT_EQ(state.in_flight, 0U);
  }
}

}  // namespace
}  // namespace spillway::resilience
