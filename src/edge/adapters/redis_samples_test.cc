#include "adapters/redis_samples.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/redis_fixture.h"
#include "adapters/sample_packet.h"
#include "capacity/sample.h"

namespace spillway::adapters::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* kKey = "0123456789abcdef0123456789abcdef";
constexpr const char* kHash = "spillway:{bids}:samples:a";

class SamplesInRedis : public RedisTest {
 protected:
  struct Server {
    std::unique_ptr<RedisSamples> samples;
    std::vector<capacity::Sample> heard;
  };

  std::unique_ptr<Server> server(const RedisProcess& redis, std::string key = kKey) {
    auto out = std::make_unique<Server>();
    out->samples = std::make_unique<RedisSamples>(
        reactor_, RedisSettings{.primary = redis.address()},
        RedisSamplesSettings{.service = "bids", .zone = "a", .key = std::move(key)}, 1,
        [this] { return wall_ms_; },
        [own = out.get()](capacity::Sample sample) { own->heard.push_back(std::move(sample)); });
    out->samples->start();
    return out;
  }

  capacity::Sample sample(std::string id) {
    capacity::Sample out;
    out.id = std::move(id);
    out.zone = "a";
    out.utilization = 0.5;
    out.weight = 100;
    out.taken_at = reactor_.refresh();
    return out;
  }

  bool exchanged(Server& server, const std::string& id) {
    const auto reads = server.samples->counters().reads.value();
    server.samples->exchange(sample(id));
    return run_until([&] { return server.samples->counters().reads.value() > reads; });
  }

  int64_t wall_ms_ = 1'800'000'000'000;
};

TEST_F(SamplesInRedis, AreWrittenAndReadOnceAPeriod) {
  const RedisProcess redis;
  ASSERT_TRUE(redis.running());
  const auto a = server(redis);
  const auto b = server(redis);
  ASSERT_TRUE(exchanged(*a, "a"));
  ASSERT_TRUE(exchanged(*b, "b"));
  EXPECT_EQ(b->heard.size(), 2U);
  EXPECT_EQ(a->heard.size(), 1U);
  EXPECT_EQ(redis.run({"HLEN", kHash}), "2");
  EXPECT_NE(redis.run({"PTTL", kHash}), "-1");
  a->samples->leave("a");
  EXPECT_TRUE(run_until([&] { return redis.run({"HLEN", kHash}) == "1"; }));
}

TEST_F(SamplesInRedis, OneThatWasNotHeardOfForLongIsDeleted) {
  const RedisProcess redis;
  ASSERT_TRUE(redis.running());
  const auto a = server(redis);
  ASSERT_TRUE(exchanged(*a, "gone"));
  wall_ms_ += 11 * 60'000;
  ASSERT_TRUE(exchanged(*a, "a"));
  EXPECT_TRUE(run_until([&] { return redis.run({"HKEYS", kHash}) == "a"; }));
  EXPECT_EQ(a->samples->counters().pruned.value(), 1U);
}

TEST_F(SamplesInRedis, ForgedOnesAndThoseInAnothersFieldAreRejected) {
  const RedisProcess redis;
  ASSERT_TRUE(redis.running());
  const auto a = server(redis);
  const SamplePackets forger("not the key");
  redis.run({"HSET", kHash, "x", forger.seal(sample("x"), reactor_.now(), wall_ms_)});
  const SamplePackets good(kKey);
  redis.run({"HSET", kHash, "y", good.seal(sample("z"), reactor_.now(), wall_ms_)});
  redis.run({"HSET", kHash, "short", "?"});
  ASSERT_TRUE(exchanged(*a, "a"));
  ASSERT_EQ(a->heard.size(), 1U);
  EXPECT_EQ(a->heard[0].id, "a");
  const auto& rejected = a->samples->counters().rejected;
  EXPECT_EQ(rejected[static_cast<size_t>(PacketErrc::kBadSignature)].value(), 1U);
  EXPECT_EQ(rejected[static_cast<size_t>(PacketErrc::kImplausible)].value(), 1U);
  EXPECT_EQ(rejected[static_cast<size_t>(PacketErrc::kTooShort)].value(), 1U);
}

TEST_F(SamplesInRedis, AStoreThatIsAwayIsCountedAndComesBack) {
  RedisProcess redis;
  ASSERT_TRUE(redis.running());
  const auto a = server(redis);
  ASSERT_TRUE(exchanged(*a, "a"));
  redis.kill();
  const auto failures = a->samples->counters().failures.value();
  a->samples->exchange(sample("a"));
  EXPECT_TRUE(run_until([&] { return a->samples->counters().failures.value() >= failures + 3; }));
  ASSERT_TRUE(redis.start());
  const auto reads = a->samples->counters().reads.value();
  EXPECT_TRUE(run_until([&] {
    a->samples->exchange(sample("a"));
    run_for(20ms);
    return a->samples->counters().reads.value() > reads;
  }));
}

}  // namespace
}  // namespace spillway::adapters::testing
