#include "resilience/hosts.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "resilience/host_settings.h"
#include "resilience/hosts_test.h"
#include "resilience/outcome.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;
using Kind = HostEvent::Kind;

TEST(Hosts, AHostThatRefusesFiveCallsInARowIsOut) {
  Pool pool(3);
  pool.call_host(1, 4, Outcome::kRefused);
  pool.tick();
  EXPECT_EQ(pool.count(Kind::kEjected), 0U);
  pool.call_host(1, 1, Outcome::kTimeout);
  pool.tick();
  ASSERT_EQ(pool.count(Kind::kEjected, 1), 1U);
  const HostEvent& gone = *pool.last(Kind::kEjected);
  EXPECT_EQ(gone.rule, "consecutive_local");
  EXPECT_EQ(gone.failures, 5U);
  EXPECT_EQ(gone.reason, "5 calls in a row got no answer");
  EXPECT_EQ(gone.ejected, 1U);
  EXPECT_EQ(gone.hosts, 3U);
  EXPECT_GE(gone.eject_for, 8s);
  EXPECT_LE(gone.eject_for, 12s);
  for (int i = 0; i < 200; ++i) {
    EXPECT_NE(pool.call(), 1U);
  }
}

TEST(Hosts, AnAnswerBetweenFailuresEndsTheRowAndFiveServerErrorsDoNot) {
  Pool pool(3);
  pool.call_host(1, 4, Outcome::kReset);
  pool.call_host(1, 1, Outcome::kServerError);
  pool.call_host(1, 4, Outcome::kReset);
  pool.tick();
  EXPECT_EQ(pool.count(Kind::kEjected), 0U) << "an answer in between, if an ugly one";
  pool.call_host(1, 4, Outcome::kServerError);
  pool.tick();
  ASSERT_EQ(pool.count(Kind::kEjected, 1), 1U) << "five 5xx, whatever resets lie between";
  EXPECT_EQ(pool.last(Kind::kEjected)->rule, "consecutive_5xx");
}

TEST(Hosts, ThePartsOfAPickServeACallerThatReachesSomeHostsOnly) {
  Pool pool(3, {.eject_min = 1s, .warm = 2s});
  const auto first = pool.hosts.slot_of(1);
  const auto second = pool.hosts.slot_of(2);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(pool.hosts.slot_of(4));
  const uint64_t mine = uint64_t{1} << *first | uint64_t{1} << *second;
  for (int i = 0; i < 100; ++i) {
    const size_t slot = pool.hosts.draw(0, pool.rng.next(), mine);
    const PickedHost picked = pool.hosts.begin(0, slot);
    EXPECT_TRUE(picked.id == 1 || picked.id == 2);
    EXPECT_EQ(pool.state(picked.id).in_flight, 1U);
    pool.hosts.report(0, picked, Outcome::kOk, 20ms);
  }
  EXPECT_EQ(pool.state(3).results[0], 0U);

  pool.call_host(1, 5, Outcome::kServerError);
  pool.tick();
  EXPECT_EQ(pool.hosts.usable().all & mine, uint64_t{1} << *second);
  EXPECT_EQ(pool.hosts.usable().full & mine, uint64_t{1} << *second);
  for (int i = 0; i < 13; ++i) {
    pool.tick();
  }
  EXPECT_EQ(pool.hosts.usable().all & mine, mine);
  EXPECT_EQ(pool.hosts.usable().full & mine, uint64_t{1} << *second) << "on its way back";
  for (int i = 0; i < 20; ++i) {
    pool.tick();
  }
  EXPECT_EQ(pool.hosts.usable().full & mine, mine);

  const uint64_t before = pool.hosts.generation();
  pool.tick();
  EXPECT_EQ(pool.hosts.generation(), before);
  pool.hosts.set_hosts(pool.now, std::vector<uint64_t>{2, 3, 4}, pool.events);
  EXPECT_NE(pool.hosts.generation(), before);
  EXPECT_FALSE(pool.hosts.slot_of(1));
  EXPECT_TRUE(pool.hosts.slot_of(4));
  EXPECT_EQ(pool.hosts.slot_of(2), second);
}

TEST(Hosts, NeutralOutcomesAndOverloadBlameNoHost) {
  Pool pool(3);
  for (const Outcome outcome : {Outcome::kShort, Outcome::kOverload, Outcome::kMisconfigured,
                                Outcome::kRejectedByPeer, Outcome::kCancelled, Outcome::kNotSent,
                                Outcome::kAbandoned, Outcome::kMalformed, Outcome::kSlow}) {
    pool.call_host(1, 200, outcome);
    pool.tick();
  }
  pool.run(20s, 300);
  EXPECT_EQ(pool.count(Kind::kEjected), 0U);
}

TEST(Hosts, AHostThatFailsMoreThanItsPeersIsOutByItsRate) {
  Pool pool(4);
  pool.behaviours[2] = Pool::failing(0.15);
  pool.run(11s, 100);
  ASSERT_GE(pool.count(Kind::kEjected, 2), 1U);
  EXPECT_EQ(pool.count(Kind::kEjected), pool.count(Kind::kEjected, 2));
  EXPECT_EQ(pool.last(Kind::kEjected)->rule, "success_rate");
  EXPECT_GE(pool.last(Kind::kEjected)->calls, 50U);
}

TEST(Hosts, ThreeBadHostsOfTenDoNotHideEachOther) {
  Pool pool(10);
  pool.behaviours[2] = Pool::failing(0.2);
  pool.behaviours[7] = Pool::failing(0.2);
  pool.behaviours[9] = Pool::failing(0.2);
  pool.run(11s, 1000);
  EXPECT_EQ(pool.hosts.peek().ejected, 3U);
  for (const uint64_t host : {2U, 7U, 9U}) {
    EXPECT_TRUE(pool.state(host).ejected);
  }
  EXPECT_EQ(pool.hosts.totals().ejected_success_rate.value(), 3U);
}

TEST(Hosts, OneOfTwoIsJudgedByTheOther) {
  Pool pool(2);
  pool.behaviours[1] = Pool::failing(0.2);
  pool.run(11s, 100);
  EXPECT_GE(pool.count(Kind::kEjected, 1), 1U);
  EXPECT_EQ(pool.count(Kind::kEjected, 2), 0U);
  EXPECT_EQ(pool.last(Kind::kEjected)->rule, "success_rate");
}

TEST(Hosts, AHostThreeTimesSlowerThanItsPeersIsOut) {
  Pool pool(4);
  for (uint64_t host = 1; host <= 4; ++host) {
    pool.behaviours[host] = Pool::taking(30ms);
  }
  pool.behaviours[3] = Pool::taking(120ms);
  pool.run(11s, 100);
  ASSERT_EQ(pool.count(Kind::kEjected, 3), 1U);
  EXPECT_EQ(pool.count(Kind::kEjected), 1U);
  EXPECT_EQ(pool.last(Kind::kEjected)->rule, "latency");
}

TEST(Hosts, ASlowHostUnderTheFloorOrWithFewCallsStays) {
  Pool below(4);
  for (uint64_t host = 1; host <= 4; ++host) {
    below.behaviours[host] = Pool::taking(host == 3 ? 40ms : 4ms);
  }
  below.run(21s, 100);
  EXPECT_EQ(below.count(Kind::kEjected), 0U);

  Pool idle(4);
  idle.behaviours[3] = Pool::taking(400ms);
  idle.run(21s, 10);
  EXPECT_EQ(idle.count(Kind::kEjected), 0U);
}

TEST(Hosts, CallsGivenUpTellAtLeastHowSlowAHostIs) {
  Pool pool(4);
  // Their losers are cancelled once slow: nobody's failure, but the p90 is at least that.
  pool.behaviours[3] = [](base::Rng& random) {
    return random.uniform() < 0.2
               ? Pool::Answer{.outcome = Outcome::kCancelledSlow, .latency = 300ms}
               : Pool::Answer{};
  };
  pool.run(11s, 100);
  ASSERT_EQ(pool.count(Kind::kEjected, 3), 1U);
  EXPECT_EQ(pool.last(Kind::kEjected)->rule, "latency");
}

TEST(Hosts, EjectionsGrowWithEachAndFallOnlyOnGoodCalls) {
  Pool pool(3);
  std::array<base::Duration, 3> lasts{};
  for (base::Duration& last : lasts) {
    pool.call_host(1, 5, Outcome::kRefused);
    pool.tick();
    last = pool.last(Kind::kEjected)->eject_for;
    pool.tick(1min);
  }
  for (size_t i = 0; i < lasts.size(); ++i) {
    EXPECT_GE(lasts[i], (i + 1) * 8s);
    EXPECT_LE(lasts[i], (i + 1) * 12s);
  }
  EXPECT_EQ(pool.state(1).ejections, 3U);
  pool.run(11s, 100);
  EXPECT_EQ(pool.state(1).ejections, 2U) << "one an interval at most";
  pool.run(20s, 100);
  EXPECT_EQ(pool.state(1).ejections, 0U);
}

TEST(Hosts, AnEjectionNeverLastsLongerThanTheLongest) {
  Pool pool(3);
  for (int i = 0; i < 100; ++i) {
    pool.call_host(1, 5, Outcome::kRefused);
    pool.tick();
    ASSERT_LE(pool.last(Kind::kEjected)->eject_for, 6min);
    pool.tick(10min);
  }
  EXPECT_EQ(pool.count(Kind::kEjected), 100U);
  EXPECT_EQ(pool.state(1).ejections, 30U);
}

TEST(Hosts, ANewSetKeepsTheHistoryOfHostsThatStayAndOfThoseThatComeBack) {
  Pool pool(3);
  pool.call_host(1, 5, Outcome::kRefused);
  pool.tick();
  pool.hosts.set_hosts(pool.now, std::array<uint64_t, 4>{4, 3, 1, 5}, pool.events);
  EXPECT_TRUE(pool.state(1).ejected);
  EXPECT_EQ(pool.hosts.peek().hosts, 4U);
  pool.hosts.set_hosts(pool.now, std::array<uint64_t, 3>{3, 4, 5}, pool.events);
  EXPECT_EQ(pool.hosts.peek().ejected, 0U);
  pool.hosts.set_hosts(pool.now, std::array<uint64_t, 4>{1, 3, 4, 5}, pool.events);
  EXPECT_TRUE(pool.state(1).ejected) << "a changing answer of the resolver pardons nobody";
  pool.tick(13s);
  EXPECT_FALSE(pool.state(1).ejected);
}

TEST(Hosts, ASmallerSetTakesTheNextDueBackIn) {
  Pool pool(10);
  for (const uint64_t host : {1U, 2U, 3U}) {
    pool.call_host(host, 5, Outcome::kRefused);
    pool.tick(1s);
  }
  EXPECT_EQ(pool.hosts.peek().ejected, 3U);
  pool.hosts.set_hosts(pool.now, std::array<uint64_t, 3>{1, 2, 3}, pool.events);
  EXPECT_EQ(pool.hosts.peek().ejected, 1U);
  EXPECT_EQ(pool.last(Kind::kReturned)->rule, "cap");
  pool.hosts.set_hosts(pool.now, std::array<uint64_t, 1>{3}, pool.events);
  EXPECT_EQ(pool.hosts.peek().ejected, 0U);
  EXPECT_EQ(pool.call(), 3U);
}

TEST(Hosts, AnEmptySetHasNoHostAndIdsBeyondTheLastPlaceAreCounted) {
  Pool pool(0);
  EXPECT_FALSE(pool.hosts.pick(0, 7));
  pool.tick();
  std::vector<uint64_t> many(70);
  std::iota(many.begin(), many.end(), 0);
  many.push_back(0);
  EXPECT_EQ(pool.hosts.set_hosts(pool.now, many, pool.events), 6U);
  EXPECT_EQ(pool.hosts.totals().left_out.value(), 6U);
  EXPECT_EQ(pool.hosts.peek().hosts, 64U);
  pool.run(5s, 1000);
  EXPECT_EQ(pool.reached.size(), 64U);
  EXPECT_LT(pool.reached.rbegin()->first, 64U);
}

TEST(Hosts, APlaceGivenToAnotherHostTakesNoResultsOfTheOld) {
  Pool pool(0);
  std::vector<uint64_t> ids(64);
  std::iota(ids.begin(), ids.end(), 100);
  pool.hosts.set_hosts(pool.now, ids, pool.events);
  std::vector<PickedHost> held;
  for (int i = 0; i < 7; ++i) {
    held.push_back(pool.pick_host(163));
  }
  ids.back() = 900;
  pool.hosts.set_hosts(pool.now, ids, pool.events);
  for (const PickedHost& picked : held) {
    pool.hosts.report(0, picked, Outcome::kRefused, {});
  }
  pool.tick();
  EXPECT_EQ(pool.count(Kind::kEjected), 0U);
  EXPECT_EQ(pool.state(900).in_flight, 0U);
  EXPECT_EQ(pool.state(900).id, 900U);
}

TEST(Hosts, WhereManyCallsFailOnAllHostsChanceEjectsFew) {
  for (const double share : {0.02, 0.1, 0.2, 0.3}) {
    Pool pool(4);
    for (uint64_t host = 1; host <= 4; ++host) {
      pool.behaviours[host] = Pool::failing(share);
    }
    pool.run(1h, 200);
    const HostTotals& totals = pool.hosts.totals();
    const uint64_t by_row = totals.ejected_server_errors.value() + totals.ejected_local.value();
    // The first interval knows no usual share yet.
    EXPECT_LE(by_row, 2U) << share;
    EXPECT_LE(totals.ejected_success_rate.value(), 2U) << share;
  }
}

TEST(Hosts, ADeadHostIsOutAfterALongerRowWhereManyCallsFail) {
  EXPECT_EQ(row_that_ejects(5, 0), 5U);
  EXPECT_EQ(row_that_ejects(5, 0.01), 5U);
  EXPECT_EQ(row_that_ejects(5, 0.2), 9U);
  EXPECT_EQ(row_that_ejects(5, 0.9), 20U);
  EXPECT_EQ(row_that_ejects(5, 1), 20U);
  EXPECT_EQ(row_that_ejects(50, 0.9), 50U);
  Pool pool(4);
  for (uint64_t host = 1; host <= 4; ++host) {
    pool.behaviours[host] = Pool::failing(0.2);
  }
  pool.run(11s, 200);
  const size_t before = pool.count(Kind::kEjected);
  pool.call_host(1, 1, Outcome::kOk);
  pool.call_host(1, 6, Outcome::kRefused);
  pool.tick();
  EXPECT_EQ(pool.count(Kind::kEjected), before);
  pool.call_host(1, 5, Outcome::kRefused);
  for (uint64_t host = 2; host <= 4; ++host) {
    pool.call_host(host, 1, Outcome::kOk);
  }
  pool.tick();
  EXPECT_EQ(pool.count(Kind::kEjected), before + 1);
}

TEST(Hosts, TheHostWithFewerCallsInFlightIsTaken) {
  Pool pool(2);
  std::vector<PickedHost> held;
  for (int i = 0; i < 100; ++i) {
    held.push_back(pool.hosts.pick(0, pool.rng.next()).value_or(PickedHost{}));
  }
  EXPECT_EQ(pool.state(1).in_flight, 50U);
  EXPECT_EQ(pool.state(2).in_flight, 50U);
  for (const PickedHost& picked : held) {
    pool.hosts.report(0, picked, Outcome::kOk, 1ms);
  }
  EXPECT_EQ(pool.state(1).in_flight + pool.state(2).in_flight, 0U);
}

TEST(Hosts, TimeThatGoesBackOrLeapsIsSafe) {
  Pool pool(3);
  pool.call_host(1, 5, Outcome::kRefused);
  pool.tick();
  pool.hosts.tick(pool.now - 30min, pool.events);
  EXPECT_TRUE(pool.state(1).ejected);
  pool.tick(24h);
  EXPECT_FALSE(pool.state(1).ejected);
  EXPECT_EQ(pool.count(Kind::kReturned), 1U);
}

TEST(HostSettings, UnsoundOnesAreNamedWithKeyAndRange) {
  EXPECT_TRUE(validate(HostSettings{}).empty());
  HostSettings wrong;
  wrong.consecutive_local = 0;
  wrong.eject_max = 1s;
  wrong.max_ejected = 1.5;
  const auto problems = validate(wrong);
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[0].key, "consecutive_local");
  EXPECT_EQ(problems[0].what, "0 is not between 1 and 1000");
  EXPECT_EQ(problems[1].key, "eject_max");
  EXPECT_EQ(problems[1].what, "1.0 s is not between 10.0 s and 3600.0 s");
  EXPECT_EQ(problems[2].key, "max_ejected");
}

}  // namespace
}  // namespace spillway::resilience
