#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "resilience/ejection.h"
#include "resilience/guard.h"
#include "resilience/host_settings.h"
#include "resilience/hosts.h"
#include "resilience/hosts_test.h"
#include "resilience/outcome.h"

// Complaints about the ejection of other products, as tests. The id of a row of the design notes,
// 2.5, stands before each.

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;
using Kind = HostEvent::Kind;

HostSettings two_thirds() {
  HostSettings settings;
  settings.max_ejected = 0.67;
  return settings;
}

// O1
TEST(HostTraps, OfThreeFailingHostsUnderACapOfTwoThirdsOneStays) {
  Pool pool(3, two_thirds());
  for (const uint64_t host : {1U, 2U, 3U}) {
    pool.call_host(host, 6, Outcome::kRefused);
    pool.tick();
  }
  EXPECT_EQ(pool.hosts.peek().ejected, 2U);
  EXPECT_EQ(pool.count(Kind::kKept, 3), 1U);
  pool.call_host(3, 100, Outcome::kRefused);
  pool.tick();
  EXPECT_EQ(pool.hosts.peek().ejected, 2U);
  EXPECT_EQ(pool.count(Kind::kKept, 3), 1U) << "told once";
}

// O1
TEST(HostTraps, WhenAllFailTogetherNobodyIsEjected) {
  Pool pool(4);
  for (uint64_t host = 1; host <= 4; ++host) {
    pool.behaviours[host] = Pool::always(Outcome::kTimeout);
  }
  pool.run(30s, 1000);
  EXPECT_EQ(pool.count(Kind::kEjected), 0U);
  EXPECT_EQ(pool.count(Kind::kKept), 4U);
  EXPECT_EQ(pool.hosts.totals().kept.value(), 4U);
}

// O2
TEST(HostTraps, TheOnlyHostIsNeverEjectedAndOneOfTwoMayBe) {
  Pool one(1);
  one.behaviours[1] = Pool::always(Outcome::kRefused);
  one.run(30s, 100);
  EXPECT_EQ(one.count(Kind::kEjected), 0U);
  EXPECT_EQ(one.call(), 1U);

  Pool two(2);
  two.behaviours[1] = Pool::always(Outcome::kRefused);
  two.run(5s, 100);
  EXPECT_EQ(two.count(Kind::kEjected, 1), 1U);
  EXPECT_EQ(two.call(), 2U);
}

// O3
TEST(HostTraps, BelowHalfUsableAllAreUsedAndItIsToldAndCounted) {
  Pool pool(4, [] {
    HostSettings settings;
    settings.max_ejected = 0.75;
    return settings;
  }());
  for (const uint64_t host : {1U, 2U}) {
    pool.call_host(host, 5, Outcome::kRefused);
    pool.tick();
  }
  EXPECT_FALSE(pool.hosts.peek().panic) << "half usable is enough";
  pool.call_host(3, 5, Outcome::kRefused);
  pool.tick();
  EXPECT_TRUE(pool.hosts.peek().panic);
  ASSERT_EQ(pool.count(Kind::kPanicBegan), 1U);
  EXPECT_EQ(pool.last(Kind::kPanicBegan)->reason, "1 of 4 hosts usable: all are used");
  std::set<uint64_t> reached;
  for (int i = 0; i < 100; ++i) {
    reached.insert(pool.call());
  }
  EXPECT_EQ(reached.size(), 4U);
  pool.tick(20s);
  EXPECT_FALSE(pool.hosts.peek().panic);
  EXPECT_EQ(pool.count(Kind::kPanicEnded), 1U);
  EXPECT_EQ(pool.hosts.totals().panics.value(), 1U);
  EXPECT_EQ(pool.hosts.totals().panic_picks.value(), 100U);
}

// O4
TEST(HostTraps, AmongTwoHundredNinesAHostAtNinetyNinePercentStays) {
  Pool pool(64);
  for (uint64_t host = 1; host <= 64; ++host) {
    pool.behaviours[host] = Pool::failing(host == 7 ? 0.01 : 0.0001);
  }
  pool.run(31s, 20'000);
  EXPECT_EQ(pool.count(Kind::kEjected), 0U);
}

// O5
TEST(HostTraps, IdleHostsAreNeitherJudgedNorPeers) {
  std::vector<HostSample> samples{{.slot = 0, .calls = 100, .failures = 12},
                                  {.slot = 1, .calls = 100, .failures = 11},
                                  {.slot = 2, .calls = 100, .failures = 13}};
  std::vector<Suspect> suspects;
  suspect_rates(samples, {}, suspects);
  EXPECT_TRUE(suspects.empty());
  for (size_t slot = 3; slot < 20; ++slot) {
    samples.push_back({.slot = slot, .calls = slot % 2 == 0 ? 0U : 49U});
  }
  suspect_rates(samples, {}, suspects);
  EXPECT_TRUE(suspects.empty()) << "idle hosts must not pass for perfect ones";
  samples.push_back({.slot = 20, .calls = 49, .failures = 49});
  suspect_rates(samples, {}, suspects);
  EXPECT_TRUE(suspects.empty());
}

// O6
TEST(HostTraps, FailuresWhileOutDoNotKeepAHostFromBeingEjectedAgain) {
  Pool pool(2);
  pool.call_host(1, 5, Outcome::kRefused);
  const std::vector<PickedHost> begun{pool.pick_host(1), pool.pick_host(1), pool.pick_host(1),
                                      pool.pick_host(1), pool.pick_host(1), pool.pick_host(1)};
  pool.tick();
  pool.call_host(1, 30, Outcome::kRefused);
  pool.tick(13s);
  ASSERT_FALSE(pool.state(1).ejected);
  for (const PickedHost& picked : begun) {
    pool.hosts.report(0, picked, Outcome::kRefused, {});
  }
  pool.tick();
  EXPECT_FALSE(pool.state(1).ejected) << "calls begun before its return say nothing";
  EXPECT_EQ(pool.state(1).in_flight, 0U);
  pool.call_host(1, 4, Outcome::kRefused);
  pool.tick();
  EXPECT_FALSE(pool.state(1).ejected) << "the row begins anew";
  pool.call_host(1, 3, Outcome::kRefused);
  pool.tick();
  EXPECT_EQ(pool.count(Kind::kEjected, 1), 2U) << "seven is over five too";
  EXPECT_EQ(pool.last(Kind::kEjected)->ejections, 2U);
}

// O7
TEST(HostTraps, AnIdleHostForgetsNoEjection) {
  Pool pool(2);
  pool.call_host(1, 5, Outcome::kRefused);
  pool.tick();
  for (int i = 0; i < 3600; ++i) {
    pool.tick(1s);
  }
  EXPECT_EQ(pool.state(1).ejections, 1U);
  pool.call_host(1, 5, Outcome::kRefused);
  pool.tick();
  EXPECT_EQ(pool.last(Kind::kEjected)->ejections, 2U);
  EXPECT_GE(pool.last(Kind::kEjected)->eject_for, 16s);
  pool.tick(1min);
  pool.call_host(1, 25, Outcome::kOk);
  pool.tick(11s);
  EXPECT_EQ(pool.state(1).ejections, 1U) << "good calls do";
}

// O8
TEST(HostTraps, NothingButItsTimeBringsAHostBackAndOnlyCallsJudgeIt) {
  Pool pool(2);
  pool.call_host(1, 5, Outcome::kServerError);
  pool.tick();
  ASSERT_TRUE(pool.state(1).ejected);
  const base::Instant until = pool.state(1).until;
  // It connects well and answers some: what a health check would see.
  while (pool.now + 100ms < until) {
    pool.call_host(1, 10, Outcome::kOk);
    pool.tick();
    ASSERT_TRUE(pool.state(1).ejected);
  }
  pool.tick();
  EXPECT_FALSE(pool.state(1).ejected);
}

// O9
TEST(HostTraps, TheFirstToReturnIsNotGivenAllTheTraffic) {
  Pool pool(2);
  pool.behaviours[1] = Pool::always(Outcome::kRefused);
  pool.run(1s, 100);
  ASSERT_TRUE(pool.state(1).ejected);
  pool.behaviours.clear();
  while (pool.state(1).ejected) {
    pool.tick();
  }
  // Now the other goes down, while the first weighs a tenth.
  pool.behaviours[2] = Pool::always(Outcome::kRefused);
  pool.reached.clear();
  pool.run(3s, 100);
  EXPECT_EQ(pool.count(Kind::kEjected, 2), 0U);
  EXPECT_GT(pool.reached[1], 0U);
  EXPECT_LT(pool.reached[1], 120U) << "300 calls";
  pool.run(3s, 100);
  EXPECT_EQ(pool.count(Kind::kEjected, 2), 1U) << "half warm, the first may carry all";
}

// O9
TEST(HostTraps, AReturningHostGetsItsWeightsShareAndNoMoreThanTwice) {
  Pool pool(4);
  pool.call_host(1, 5, Outcome::kRefused);
  pool.tick();
  while (pool.state(1).ejected) {
    pool.tick();
  }
  EXPECT_DOUBLE_EQ(pool.state(1).weight, 6553.0 / 65536);
  std::array<uint64_t, 10> share_permille{};
  for (uint64_t& share : share_permille) {
    pool.reached.clear();
    const double weight = pool.state(1).weight + 0.1;
    pool.run(1s, 10'000);
    share = pool.reached[1] / 10;
    EXPECT_LT(static_cast<double>(share), weight * 2 / 4 * 1000);
  }
  EXPECT_LT(share_permille.front(), 60U);
  EXPECT_GT(share_permille.back(), 200U);
  pool.tick();
  EXPECT_DOUBLE_EQ(pool.state(1).weight, 1);
}

// O10
TEST(HostTraps, WithOneOfTwoDownThePickAlwaysFindsTheOther) {
  Pool pool(2);
  for (int i = 0; i < 1000; ++i) {
    const PickedHost first = pool.hosts.pick(0, pool.rng.next()).value_or(PickedHost{});
    const PickedHost second =
        pool.hosts.pick(0, pool.rng.next(), first.bit()).value_or(PickedHost{});
    EXPECT_NE(first.id, second.id);
    const PickedHost third =
        pool.hosts.pick(0, pool.rng.next(), first.bit() | second.bit()).value_or(PickedHost{});
    for (const PickedHost& picked : {first, second, third}) {
      pool.hosts.report(0, picked, Outcome::kNotSent, {});
    }
  }
  pool.call_host(1, 5, Outcome::kRefused);
  pool.tick();
  const PickedHost up = pool.hosts.pick(0, 0).value_or(PickedHost{});
  EXPECT_EQ(up.id, 2U);
  EXPECT_EQ(pool.hosts.pick(0, 0, up.bit()).value_or(PickedHost{}).id, 1U)
      << "rather an ejected one than none";
}

// O11
TEST(HostTraps, AGuardOverThreeFailingHostsOpensBeforeAnyOfThemFailsFiveTimes) {
  Pool pool(3);
  Guard guard("dsp/eu/display", {}, 1, 1, pool.now);
  std::vector<Transition> moves;
  int calls = 0;
  while (guard.peek().state == State::kClosed && calls < 15) {
    auto permit = guard.admit(0, {.now = pool.now, .offered = 200ms, .request_hash = 1});
    ASSERT_TRUE(permit);
    const PickedHost host = pool.hosts.pick(0, pool.rng.next()).value_or(PickedHost{});
    pool.hosts.report(0, host, Outcome::kRefused, 5ms);
    permit->finish(pool.now + 5ms, Outcome::kRefused);
    ++calls;
    pool.tick(300ms);
    guard.tick(pool.now, moves);
  }
  EXPECT_EQ(guard.peek().state, State::kOpen);
  EXPECT_LT(calls, 15);
  EXPECT_EQ(pool.count(Kind::kEjected), 0U);
}

}  // namespace
}  // namespace spillway::resilience
