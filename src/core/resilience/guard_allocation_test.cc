#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace {

thread_local size_t allocations = 0;

}  // namespace

// Counts the allocations of this test program by thread. Not inlined: GCC would take the pairs for
// mismatched.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }

[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

TEST(GuardAllocations, TheCallPathMakesNoneInAnyStateAndAQuietTickNone) {
  Guard guard("dsp/eu/display", {.max_in_flight = 8, .qps = 100'000}, 2, 1, base::Instant(1h));
  std::vector<Transition> log;
  log.reserve(256);
  base::Instant now(1h);
  uint64_t hash = 0;
  const auto calls = [&](Outcome outcome) {
    const size_t before = allocations;
    for (int i = 0; i < 20; ++i) {
      auto permit = guard.admit(0, {.now = now, .offered = 300ms, .request_hash = ++hash});
      if (permit) {
        Tail tail = permit->finish(now + 10ms, outcome);
        tail.settle(20ms);
      }
    }
    EXPECT_EQ(allocations, before);
  };
  const auto run = [&](Outcome outcome, int ticks) {
    for (int i = 0; i < ticks; ++i) {
      calls(outcome);
      now += 100ms;
      const size_t before = allocations;
      const size_t moves = log.size();
      guard.tick(now, log);
      if (log.size() == moves && outcome == Outcome::kOk) {
        EXPECT_EQ(allocations, before);
      }
    }
  };
  run(Outcome::kOk, 100);
  run(Outcome::kServerError, 50);
  run(Outcome::kOverload, 50);
  run(Outcome::kOk, 600);
  EXPECT_GE(log.size(), 3U) << "it must have opened and come back for this to mean anything";
}

}  // namespace
}  // namespace spillway::resilience
