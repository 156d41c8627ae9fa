#include "adapters/redis_outcome.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/redis_client.h"
#include "adapters/redis_settings.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using resilience::Outcome;
using resilience::State;

constexpr resilience::Terms kTerms{.offered = 10ms, .fair = 5ms, .slow_after = 8ms};

TEST(RedisOutcome, EveryEndHasExactlyOneOutcome) {
  const auto of = [](RedisErrc error, std::string_view text = {}) {
    return classify({.error = error, .error_text = text}, kTerms);
  };
  EXPECT_EQ(classify({.answered = true, .elapsed = 1ms}, kTerms), Outcome::kOk);
  EXPECT_EQ(of(RedisErrc::kTimeout), Outcome::kTimeout);
  EXPECT_EQ(of(RedisErrc::kRefused), Outcome::kRefused);
  EXPECT_EQ(of(RedisErrc::kLost), Outcome::kReset);
  EXPECT_EQ(of(RedisErrc::kTls), Outcome::kTls);
  EXPECT_EQ(of(RedisErrc::kProtocol), Outcome::kMalformed);
  EXPECT_EQ(of(RedisErrc::kBusy), Outcome::kNotSent);
  EXPECT_EQ(of(RedisErrc::kCancelled), Outcome::kCancelled);
  EXPECT_EQ(of(RedisErrc::kErrorReply, "READONLY You can't write against a read only replica."),
            Outcome::kServerError);
  EXPECT_EQ(of(RedisErrc::kErrorReply, "LOADING Redis is loading the dataset in memory"),
            Outcome::kServerError);
  EXPECT_EQ(of(RedisErrc::kErrorReply, "BUSY Redis is busy running a script."),
            Outcome::kServerError);
  EXPECT_EQ(of(RedisErrc::kErrorReply, "OOM command not allowed when used memory > 'maxmemory'."),
            Outcome::kServerError);
  EXPECT_EQ(of(RedisErrc::kErrorReply, "NOAUTH Authentication required."), Outcome::kMisconfigured);
  EXPECT_EQ(of(RedisErrc::kErrorReply, "NOPERM this user has no permissions"),
            Outcome::kMisconfigured);
  EXPECT_EQ(of(RedisErrc::kErrorReply, "WRONGTYPE Operation against a key"),
            Outcome::kRejectedByPeer);
  EXPECT_EQ(of(RedisErrc::kErrorReply, "NOSCRIPT No matching script."), Outcome::kRejectedByPeer);
  EXPECT_EQ(of(RedisErrc::kErrorReply, ""), Outcome::kServerError);
}

// Defect 3.4.3 of the reference: the slow threshold lay above the timeout.
TEST(RedisOutcome, AnAnswerBelowItsDeadlineCanBeSlow) {
  EXPECT_EQ(classify({.answered = true, .elapsed = 9'900us}, kTerms), Outcome::kSlow);
  EXPECT_EQ(classify({.answered = true, .elapsed = 7'900us}, kTerms), Outcome::kOk);
}

TEST(RedisOutcome, WhoGivesTooLittleTimeBlamesNobody) {
  constexpr resilience::Terms kShort{.offered = 1ms, .fair = 5ms, .slow_after = 800us};
  EXPECT_EQ(classify({.error = RedisErrc::kTimeout}, kShort), Outcome::kShort);
  EXPECT_EQ(classify({.answered = true, .elapsed = 900us}, kShort), Outcome::kOk);
}

/// A Redis in virtual time behind one guard: calls of 10 ms at a steady rate.
class VirtualRedis {
 public:
  explicit VirtualRedis(double rate, uint64_t seed)
      : step_(base::Duration(static_cast<int64_t>(1e9 / rate))),
        rng_(seed),
        guard_("redis/caps/read", redis_guard_settings(), 1, seed, now_) {}

  enum class Health : uint8_t { kFine, kFrozen, kRefusing, kSlow };

  /// Runs until `end`; false: the state was never `until`.
  bool run(Health health, base::Duration time, std::optional<State> until = {}) {
    const base::Instant end = now_ + time;
    while (now_ < end) {
      now_ += step_;
      tick();
      settle();
      if (until && guard_.peek().state == *until) {
        return true;
      }
      call(health);
    }
    return false;
  }

  [[nodiscard]] base::Instant now() const { return now_; }

  [[nodiscard]] const resilience::Guard& guard() const { return guard_; }

 private:
  struct Call {
    base::Instant at;
    RedisEnd end;
    resilience::Permit permit;
    base::Duration late{};  ///< Until the late answer; zero: none comes.
  };

  void tick() {
    while (now_ - ticked_ >= 100ms) {
      ticked_ += 100ms;
      guard_.tick(ticked_, transitions_);
    }
  }

  void settle() {
    std::erase_if(calls_, [&](Call& call) {
      if (call.at > now_) {
        return false;
      }
      resilience::Tail tail = call.permit.finish(call.at, classify(call.end, call.permit.terms()));
      if (call.late > 0ns) {
        tail.settle(call.late);
      }
      return true;
    });
  }

  void call(Health health) {
    auto permit =
        guard_.admit(0, {.now = now_, .offered = 10ms, .request_hash = base::mix64(++asked_)});
    if (!permit) {
      return;
    }
    const base::Duration usual(300'000 + static_cast<int64_t>(rng_.below(700'000)));
    Call made{.at = now_ + usual,
              .end = {.answered = true, .elapsed = usual},
              .permit = std::move(*permit)};
    if (health == Health::kRefusing) {
      made.at = now_;
      made.end = {.error = RedisErrc::kRefused};
    } else if (health != Health::kFine) {
      made.at = now_ + 10ms;
      made.end = {.error = RedisErrc::kTimeout, .elapsed = 10ms};
      made.late = health == Health::kSlow ? usual + 30ms : 0ns;
    }
    calls_.push_back(std::move(made));
  }

  base::Duration step_;
  base::Instant now_{1h};
  base::Instant ticked_{1h};
  base::Rng rng_;
  resilience::Guard guard_;
  std::vector<resilience::Transition> transitions_;
  std::vector<Call> calls_;
  uint64_t asked_ = 0;
};

TEST(RedisBreaker, OpensWithinFiveSecondsOfAFaultAndServesAllWithinSixtyOfItsEnd) {
  using Health = VirtualRedis::Health;
  for (const Health fault : {Health::kFrozen, Health::kRefusing, Health::kSlow}) {
    for (const double rate : {20.0, 200.0, 2'000.0}) {
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        VirtualRedis redis(rate, seed);
        ASSERT_FALSE(redis.run(Health::kFine, 60s, State::kOpen));
        const base::Instant broken = redis.now();
        ASSERT_TRUE(redis.run(fault, 10s, State::kOpen)) << rate;
        EXPECT_LE(redis.now() - broken, 5s) << "at " << rate;
        (void)redis.run(fault, 10s * static_cast<int64_t>(seed));
        const base::Instant healthy = redis.now();
        ASSERT_TRUE(redis.run(Health::kFine, 120s, State::kClosed)) << rate;
        EXPECT_LE(redis.now() - healthy, 60s) << "at " << rate;
        EXPECT_EQ(redis.guard().peek().admit_ratio, 1.0);
      }
    }
  }
}

// From its first call on: what is usual was never learnt, or learnt as slow, and decides nothing.
TEST(RedisBreaker, OpensAndComesBackAlikeWhenItWasNeverWell) {
  using Health = VirtualRedis::Health;
  for (const Health fault : {Health::kFrozen, Health::kRefusing, Health::kSlow}) {
    for (const double rate : {20.0, 200.0, 2'000.0}) {
      for (const base::Duration ill : {base::Duration(10s), base::Duration(5min)}) {
        VirtualRedis redis(rate, 7);
        const base::Instant begin = redis.now();
        ASSERT_TRUE(redis.run(fault, 10s, State::kOpen)) << rate;
        EXPECT_LE(redis.now() - begin, 5s) << "at " << rate;
        (void)redis.run(fault, ill);
        const base::Instant healthy = redis.now();
        ASSERT_TRUE(redis.run(Health::kFine, 120s, State::kClosed)) << rate;
        EXPECT_LE(redis.now() - healthy, 60s) << "at " << rate;
        const auto refused = [&] {
          const resilience::Totals totals = redis.guard().totals();
          return totals.refused[0] + totals.refused[4];
        };
        const uint64_t before = refused();
        (void)redis.run(Health::kFine, 10s);
        EXPECT_EQ(refused(), before) << "everything is asked again at " << rate;
      }
    }
  }
}

// Defects 3.4.1 and 3.4.2: a permit nobody answers keeps the circuit half open for ever.
TEST(RedisBreaker, ACallThatIsGivenUpLeavesNoProbeBehind) {
  using Health = VirtualRedis::Health;
  VirtualRedis redis(200, 2);
  ASSERT_FALSE(redis.run(Health::kFine, 30s, State::kOpen));
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(redis.run(Health::kFrozen, 60s, State::kOpen));
    // Frozen through the probes, and then well: every round comes back.
    (void)redis.run(Health::kFrozen, 3s);
    ASSERT_TRUE(redis.run(Health::kFine, 60s, State::kClosed)) << round;
    (void)redis.run(Health::kFine, 30s);
  }
}

TEST(RedisSettings, NamesWhatIsWrong) {
  const auto keys = [](const RedisSettings& settings) {
    std::string all;
    for (const resilience::Problem& problem : validate(settings)) {
      all += problem.key + " ";
    }
    return all;
  };
  EXPECT_EQ(keys({.primary = "localhost:6379"}), "");
  EXPECT_EQ(keys({.primary = "[::1]:6379", .replicas = {"a:1"}}), "");
  EXPECT_EQ(keys({}), "primary ");
  EXPECT_EQ(keys({.primary = "localhost"}), "primary ");
  EXPECT_EQ(keys({.primary = "localhost:0"}), "primary ");
  EXPECT_EQ(keys({.primary = "localhost:65536"}), "primary ");
  EXPECT_EQ(keys({.primary = "a:1", .replicas = {"b"}}), "replicas ");
  EXPECT_EQ(keys({.sentinels = {"s:26379"}}), "sentinel_name ");
  EXPECT_EQ(keys({.primary = "a:1", .sentinels = {"s:26379"}, .sentinel_name = "m"}), "primary ");
  EXPECT_EQ(keys({.sentinels = {"s:26379"}, .sentinel_name = "m"}), "");
  EXPECT_EQ(keys({.primary = "a:1", .stall_after = 1ms, .max_commands = 1}),
            "stall_after max_commands ");
  EXPECT_EQ(keys({.primary = "a:1", .hedge = {.floor = 1us}}), "hedge.floor ");
  EXPECT_TRUE(resilience::validate(redis_guard_settings()).empty());
}

}  // namespace
}  // namespace spillway::adapters
