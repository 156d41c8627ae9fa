// A real Redis that is frozen, slow or killed, from the first call that fails to the last that is
// refused. Rates and faults by the hand of a virtual clock are in redis_outcome_test.cc.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "adapters/redis_client.h"
#include "adapters/redis_fixture.h"
#include "adapters/redis_settings.h"
#include "base/time.h"
#include "resilience/guard.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using resilience::State;
using testing::DelayingProxy;
using testing::RedisAnswer;
using testing::RedisProcess;

class RedisFaultsTest : public testing::RedisTest {
 protected:
  void begin() {
    ASSERT_TRUE(server_.running());
    RedisSettings settings{.primary = proxy_.address()};
    settings.connect_timeout = 200ms;
    settings.stall_after = 300ms;
    client_ = connect(settings);
  }

  void SetUp() override {
    begin();
    ASSERT_TRUE(run_until([&] { return client_->ready(RedisUse::kPrimary); }));
    traffic(2s, [] { return false; });
    // A busy machine can open it too; what follows begins with a healthy one.
    traffic(60s, [&] { return state() == State::kClosed; });
    ASSERT_EQ(state(), State::kClosed);
    answers_.clear();
  }

  [[nodiscard]] State state() const { return guard_.peek().state; }

  /// Some 300 calls a second of 10 ms until `until`; how long that took.
  base::Duration traffic(base::Duration limit, const std::function<bool()>& until) {
    const base::Instant begin = reactor_.refresh();
    while (!until() && reactor_.refresh() - begin < limit) {
      for (int i = 0; i < 4; ++i) {
        (void)ask(*client_, {"PING"}, 10ms);
      }
      run_for(10ms);
    }
    return reactor_.refresh() - begin;
  }

  void expect_open_within_five_seconds() {
    EXPECT_LE(traffic(20s, [&] { return state() == State::kOpen; }), 5s);
    const uint64_t calls = client_->counters().calls.value();
    EXPECT_EQ(ask(*client_, {"PING"}, 10ms), 0U) << "refused at once, whoever asks";
    EXPECT_EQ(refused_.back(), RedisErrc::kCircuitOpen);
    EXPECT_EQ(client_->counters().calls.value(), calls);
  }

  void expect_all_within_sixty_seconds() {
    EXPECT_LE(traffic(90s, [&] { return state() == State::kClosed; }), 60s);
    answers_.clear();
    EXPECT_TRUE(run_until([&] { return get(*client_, {"PING"}, 1s).ok; }));
    EXPECT_TRUE(run_until([&] { return guard_.peek().in_flight == 0; })) << "nothing leaked";
    EXPECT_EQ(guard_.totals().outcomes[static_cast<size_t>(resilience::Outcome::kAbandoned)], 0U);
  }

  RedisProcess server_;
  std::atomic<int> delay_ms_{0};
  DelayingProxy proxy_{server_.port(),
                       [this] { return base::Duration(std::chrono::milliseconds(delay_ms_)); }};
  std::unique_ptr<RedisClient> client_;
};

TEST_F(RedisFaultsTest, AFrozenRedisOpensTheCircuitAndIsBackAfterItIsThawed) {
  server_.freeze();
  expect_open_within_five_seconds();
  server_.thaw();
  expect_all_within_sixty_seconds();
}

// Defect 3.4.3 of the reference: what is cut at its timeout was never slow.
TEST_F(RedisFaultsTest, ARedisThirtyMillisecondsSlowerOpensTheCircuitAndIsBackWhenItIsFast) {
  delay_ms_ = 30;
  expect_open_within_five_seconds();
  for (const RedisAnswer& answer : answers_) {
    EXPECT_TRUE(answer.ok || answer.error == RedisErrc::kTimeout);
  }
  delay_ms_ = 0;
  expect_all_within_sixty_seconds();
}

/// Nothing normal was ever seen of it.
class RedisFromTheFirstCallTest : public RedisFaultsTest {
 protected:
  void SetUp() override {
    delay_ms_ = 30;
    begin();
  }
};

TEST_F(RedisFromTheFirstCallTest, ThirtyMillisecondsSlowItOpensTheCircuitAndIsBackWhenItIsFast) {
  expect_open_within_five_seconds();
  traffic(5s, [] { return false; });
  delay_ms_ = 0;
  expect_all_within_sixty_seconds();
}

TEST_F(RedisFaultsTest, AKilledRedisOpensTheCircuitAndIsBackAfterItsRestart) {
  server_.kill();
  expect_open_within_five_seconds();
  ASSERT_TRUE(server_.start());
  expect_all_within_sixty_seconds();
}

}  // namespace
}  // namespace spillway::adapters
