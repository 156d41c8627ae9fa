// Reads from replicas, hedged, and what Sentinel says: with real servers.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/redis_client.h"
#include "adapters/redis_fixture.h"
#include "adapters/redis_settings.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/hedge.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using resilience::HedgeBlock;
using testing::DelayingProxy;
using testing::RedisAnswer;
using testing::RedisProcess;

/// Three servers that hold different values under "who", so that a test sees who answers.
class RedisReplicasTest : public testing::RedisTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(primary_.running() && one_.running() && two_.running());
    EXPECT_EQ(primary_.run({"SET", "who", "primary"}), "OK");
    EXPECT_EQ(one_.run({"SET", "who", "one"}), "OK");
    EXPECT_EQ(two_.run({"SET", "who", "two"}), "OK");
  }

  RedisSettings behind_proxies() {
    return {.primary = primary_.address(), .replicas = {slow_one_.address(), slow_two_.address()}};
  }

  std::unique_ptr<RedisClient> ready(const RedisSettings& settings) {
    auto client = connect(settings);
    EXPECT_TRUE(run_until(
        [&] { return client->counters().connections.value() == 1 + settings.replicas.size(); }));
    return client;
  }

  RedisAnswer read(RedisClient& client, base::Duration patience = 1s) {
    return get(client, {"GET", "who"}, patience, RedisUse::kRead);
  }

  /// So that the usual latency is known.
  void warm_up(RedisClient& client, int reads = 400) {
    for (int i = 0; i < reads; ++i) {
      EXPECT_TRUE(read(client).ok);
    }
  }

  static uint64_t blocked(const RedisClient& client, HedgeBlock why) {
    return client.counters().hedges_blocked[static_cast<size_t>(why)].value();
  }

  base::Duration delay_of(std::atomic<int>& every, std::atomic<uint64_t>& count) const {
    return every > 0 && ++count % static_cast<uint64_t>(every) == 0 ? base::Duration(slowness_)
                                                                    : 0ms;
  }

  RedisProcess primary_;
  RedisProcess one_;
  RedisProcess two_;
  base::Duration slowness_ = 200ms;
  std::atomic<int> every_one_{0};  ///< Of how many replies one is slow; 0: none.
  std::atomic<int> every_two_{0};
  std::atomic<uint64_t> count_one_{0};
  std::atomic<uint64_t> count_two_{0};
  DelayingProxy slow_one_{one_.port(), [this] { return delay_of(every_one_, count_one_); }};
  DelayingProxy slow_two_{two_.port(), [this] { return delay_of(every_two_, count_two_); }};
};

TEST_F(RedisReplicasTest, ReadsGoToReplicasInTurnAndWritesToThePrimary) {
  const auto client =
      ready({.primary = primary_.address(), .replicas = {one_.address(), two_.address()}});
  int ones = 0;
  int twos = 0;
  for (int i = 0; i < 100; ++i) {
    const RedisAnswer answer = read(*client);
    ones += answer.text == "one" ? 1 : 0;
    twos += answer.text == "two" ? 1 : 0;
  }
  EXPECT_EQ(get(*client, {"GET", "who"}).text, "primary");
  EXPECT_EQ(ones, 50);
  EXPECT_EQ(twos, 50);
}

TEST_F(RedisReplicasTest, ReadsGoOnWithoutReplicas) {
  const auto client =
      ready({.primary = primary_.address(), .replicas = {one_.address(), two_.address()}});
  one_.kill();
  two_.kill();
  ASSERT_TRUE(run_until([&] { return client->counters().connections.value() == 1; }));
  EXPECT_EQ(read(*client).text, "primary");
}

TEST_F(RedisReplicasTest, ASlowReadIsAskedTwiceAndTheFirstAnswerWins) {
  const auto client = ready(behind_proxies());
  warm_up(*client);
  every_one_ = every_two_ = 50;
  std::vector<base::Duration> took;
  for (int i = 0; i < 1'000; ++i) {
    const RedisAnswer answer = read(*client);
    EXPECT_TRUE(answer.ok);
    took.push_back(answer.took);
  }
  std::ranges::sort(took);
  const RedisCounters& counters = client->counters();
  EXPECT_GE(counters.hedges_won.value(), 3U)
      << "budget " << blocked(*client, HedgeBlock::kBudget) << " circuit "
      << blocked(*client, HedgeBlock::kCircuit) << " fired " << counters.hedges_fired.value();
  EXPECT_LE(counters.hedges_fired.value(), counters.calls.value() / 20);
  EXPECT_GE(counters.late_replies.value(), counters.hedges_won.value() / 2)
      << "the original stays in flight";
  EXPECT_LT(took[980], slowness_) << "two in a hundred were slow";
  EXPECT_EQ(guard_.totals().outcomes[static_cast<size_t>(resilience::Outcome::kOk)] +
                guard_.totals().outcomes[static_cast<size_t>(resilience::Outcome::kSlow)],
            counters.calls.value())
      << "one outcome a call, however many legs";
}

TEST_F(RedisReplicasTest, TheSecondAskNeverComesBeforeEightMilliseconds) {
  const auto client = ready(behind_proxies());
  warm_up(*client);
  slowness_ = 4ms;
  every_one_ = every_two_ = 3;
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(read(*client).ok);
  }
  // A starved machine may be later than the proxy: then the hedge was right.
  EXPECT_LE(client->counters().hedges_fired.value(), 10U);
}

TEST_F(RedisReplicasTest, WhileSheddingNothingIsAskedTwice) {
  const auto client = ready(behind_proxies());
  warm_up(*client);
  client->set_shed_level(1);
  const uint64_t before = client->counters().hedges_fired.value();
  every_one_ = every_two_ = 10;
  for (int i = 0; i < 60; ++i) {
    EXPECT_TRUE(read(*client).ok);
  }
  EXPECT_EQ(client->counters().hedges_fired.value(), before);
  EXPECT_GE(blocked(*client, HedgeBlock::kShed), 5U);
  client->set_shed_level(0);
  every_one_ = every_two_ = 30;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(read(*client).ok);
  }
  EXPECT_GT(client->counters().hedges_fired.value(), before) << "and it ends with the shedding";
}

TEST_F(RedisReplicasTest, WhenAllReadsAreSlowTheBudgetKeepsTheSecondAsksBelowFivePercent) {
  const auto client = ready(behind_proxies());
  warm_up(*client);
  slowness_ = 40ms;
  every_one_ = every_two_ = 1;
  const uint64_t calls = client->counters().calls.value();
  for (int i = 0; i < 150; ++i) {
    (void)read(*client);
  }
  const RedisCounters& counters = client->counters();
  EXPECT_LE(counters.hedges_fired.value(), counters.calls.value() / 20);
  EXPECT_GT(counters.calls.value(), calls);
  EXPECT_GE(blocked(*client, HedgeBlock::kBudget) + blocked(*client, HedgeBlock::kCircuit), 20U);
}

// Defect 3.4.9 of the reference: the first error won the race.
TEST_F(RedisReplicasTest, AnErrorDoesNotWinOverAnAnswerUnderWay) {
  const auto client = ready(behind_proxies());
  warm_up(*client);
  EXPECT_EQ(two_.run({"DEL", "who"}), "1");
  EXPECT_EQ(two_.run({"LPUSH", "who", "a", "list"}), "2");  // GET of it is an error
  every_one_ = 1;
  slowness_ = 35ms;
  int answered = 0;
  for (int i = 0; i < 20; ++i) {
    answered += read(*client).text == "one" ? 1 : 0;
  }
  EXPECT_GE(answered, 5) << "reads that began at one and were asked again at two";
  EXPECT_GE(client->counters().hedges_fired.value(), 3U);
  EXPECT_EQ(client->counters().hedges_won.value(), 0U);
}

TEST_F(RedisReplicasTest, AFrozenReplicaCostsItsReadsASecondAskAndNotTheirAnswer) {
  RedisSettings settings{.primary = primary_.address(),
                         .replicas = {one_.address(), two_.address()}};
  settings.stall_after = 300ms;
  settings.connect_timeout = 200ms;
  const auto client = ready(settings);
  warm_up(*client);
  one_.freeze();
  int answered = 0;
  for (int i = 0; i < 200; ++i) {
    answered += read(*client, 50ms).ok ? 1 : 0;
  }
  EXPECT_GE(answered, 195);
  one_.thaw();
  ASSERT_TRUE(run_until([&] { return client->counters().connections.value() == 3; }));
}

/// A primary with two replicas, watched by a sentinel.
class RedisSentinelTest : public testing::RedisTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(primary_.running() && one_.running() && two_.running());
    for (const RedisProcess* replica : {&one_, &two_}) {
      EXPECT_EQ(replica->run({"REPLICAOF", "127.0.0.1", std::to_string(primary_.port())}), "OK");
    }
    sentinel_ = RedisProcess::sentinel(primary_.port());
    ASSERT_TRUE(sentinel_->running());
    ASSERT_TRUE(run_until(
        [&] {
          return sentinel_->run({"SENTINEL", "replicas", "main"})
                     .contains(std::to_string(one_.port())) &&
                 sentinel_->run({"SENTINEL", "replicas", "main"})
                     .contains(std::to_string(two_.port()));
        },
        30s))
        << "the sentinel has found the replicas";
    client_ = connect(RedisSettings{.sentinels = {"127.0.0.1:1", sentinel_->address()},
                                    .sentinel_name = "main",
                                    .connect_timeout = 300ms,
                                    .refresh = 500ms});
  }

  /// Writes until one is answered.
  bool write_until_done(const std::string& value, base::Duration limit) {
    return run_until([&] { return get(*client_, {"SET", "k", value}, 300ms).ok; }, limit);
  }

  RedisProcess primary_;
  RedisProcess one_;
  RedisProcess two_;
  std::unique_ptr<RedisProcess> sentinel_;
  std::unique_ptr<RedisClient> client_;
};

TEST_F(RedisSentinelTest, FindsThePrimaryAndItsReplicasThoughTheFirstSentinelIsDead) {
  EXPECT_TRUE(get(*client_, {"SET", "k", "v"}).ok);
  EXPECT_EQ(primary_.run({"GET", "k"}), "v");
  ASSERT_TRUE(run_until([&] { return client_->counters().connections.value() == 4; }))
      << "a sentinel, a primary, two replicas";
  ASSERT_TRUE(
      run_until([&] { return get(*client_, {"GET", "k"}, 1s, RedisUse::kRead).text == "v"; }));
}

TEST_F(RedisSentinelTest, AfterThePrimaryDiesWritesGoToTheNewOne) {
  ASSERT_TRUE(write_until_done("before", 10s));
  ASSERT_TRUE(run_until([&] { return one_.run({"GET", "k"}) == "before"; }));
  primary_.kill();
  ASSERT_TRUE(write_until_done("after", 60s));
  EXPECT_GE(client_->counters().fail_overs.value(), 1U);
  const std::string roles = one_.run({"ROLE"}).substr(0, 6) + two_.run({"ROLE"}).substr(0, 6);
  EXPECT_TRUE(roles.contains("master"));
  EXPECT_EQ((roles.starts_with("master") ? one_ : two_).run({"GET", "k"}), "after");
}

TEST_F(RedisSentinelTest, APrimaryThatTakesNoWritesAnyMoreIsLeftForTheOneSentinelNames) {
  ASSERT_TRUE(write_until_done("before", 10s));
  ASSERT_TRUE(run_until([&] { return sentinel_->run({"SENTINEL", "failover", "main"}) == "OK"; }))
      << "a replica is known to be good";
  // The old primary lives on as a replica and says READONLY, or its connection is cut: either way.
  ASSERT_TRUE(run_until([&] { return client_->counters().fail_overs.value() >= 1; }, 60s));
  ASSERT_TRUE(write_until_done("after", 60s));
  ASSERT_TRUE(run_until(
      [&] { return one_.run({"GET", "k"}) == "after" && two_.run({"GET", "k"}) == "after"; }, 30s));
}

TEST_F(RedisSentinelTest, AReadOnlyReplyMakesTheClientAskAgainWhoThePrimaryIs) {
  ASSERT_TRUE(write_until_done("before", 10s));
  const uint64_t asks = client_->counters().sentinel_asks.value();
  // Demoted behind the sentinel's back. The connection lives on: it is cut only by a fail-over.
  EXPECT_EQ(primary_.run({"REPLICAOF", "127.0.0.1", std::to_string(one_.port())}), "OK");
  const RedisAnswer answer = get(*client_, {"SET", "k", "v"}, 1s);
  EXPECT_FALSE(answer.ok);
  ASSERT_TRUE(run_until([&] { return client_->counters().sentinel_asks.value() > asks; }));
  EXPECT_EQ(primary_.run({"REPLICAOF", "NO", "ONE"}), "OK");
  ASSERT_TRUE(write_until_done("after", 60s));
}

}  // namespace
}  // namespace spillway::adapters
