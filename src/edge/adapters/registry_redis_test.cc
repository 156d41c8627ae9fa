#include "adapters/registry_redis.h"

#include <cstddef>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "adapters/redis_fixture.h"
#include "adapters/registry.h"
#include "adapters/registry_fixture.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using testing::instance;
using testing::quick;
using testing::RedisProcess;

class RegistryRedisTest : public testing::RegistryTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.running()) << "redis-server does not run: tools/setup check";
  }

  std::unique_ptr<Registry> open(const RegistrySettings& settings = quick()) {
    return redis_registry(reactor_, {.primary = server_.address()}, settings, ++seed_);
  }

  RedisProcess server_;
  uint64_t seed_ = 0;
};

TEST_F(RegistryRedisTest, MembersComeStayAndGo) {
  members_come_stay_and_go([this] { return open(); });
}

TEST_F(RegistryRedisTest, AMemberThatDiesLeavesWithItsTtl) {
  one_that_dies_leaves([this] { return open(); });
}

TEST_F(RegistryRedisTest, WhatRedisForgotIsRegisteredAnewAndNotFlushedMeanwhile) {
  auto a = open();
  auto patient = quick();
  patient.confirm_reads = 200;
  auto reader = open(patient);
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  (void)server_.run({"FLUSHALL"});
  ASSERT_TRUE(run_until([&] { return a->counters().lost.value() > 0; }));
  EXPECT_EQ(ids(*reader), "a");
  ASSERT_TRUE(run_until([&] { return !reader->held_size(); }));
  EXPECT_EQ(ids(*reader), "a");
}

TEST_F(RegistryRedisTest, AnEmptySetIsBelievedOnlyOnceConfirmed) {
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  a->withdraw();
  ASSERT_TRUE(run_until([&] { return reader->held_size().has_value(); }));
  EXPECT_EQ(ids(*reader), "a");
  ASSERT_TRUE(run_until([&] { return ids(*reader).empty(); }));
  EXPECT_EQ(reader->counters().held[static_cast<size_t>(RegistryHold::kEmpty)].value(), 3U);
}

TEST_F(RegistryRedisTest, AnEmptyFirstSetIsHeldBackWhereMembersAreExpected) {
  auto reader = open();
  reader->expect(3);
  watch(*reader);
  ASSERT_TRUE(run_until([&] { return reader->held_size() == 0U; }));
  EXPECT_FALSE(reader->view().known);
  ASSERT_TRUE(run_until([&] { return reader->view().known; }));
  EXPECT_EQ(reader->counters().held[static_cast<size_t>(RegistryHold::kEmpty)].value(), 3U);
}

TEST_F(RegistryRedisTest, TheSetSurvivesAnOutage) {
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  server_.kill();
  ASSERT_TRUE(run_until([&] {
    return reader->counters().read_errors[static_cast<size_t>(RegistryErrc::kUnreachable)].value() +
               reader->counters()
                   .read_errors[static_cast<size_t>(RegistryErrc::kTimeout)]
                   .value() >=
           2;
  }));
  EXPECT_EQ(ids(*reader), "a");
  EXPECT_NE(reader->last_error(), "");
  ASSERT_TRUE(server_.start());
  const uint64_t before = reader->counters().reads.value();
  ASSERT_TRUE(run_until([&] { return reader->counters().reads.value() > before + 6; }));
  EXPECT_EQ(ids(*reader), "a");
  EXPECT_TRUE(a->announced());
}

TEST_F(RegistryRedisTest, MembersOfOtherZonesAndBrokenEntriesAreLeftOut) {
  auto a = open();
  auto b = open();
  auto settings = quick();
  settings.zone = "z1";
  auto reader = open(settings);
  watch(*reader);
  (void)server_.run({"HSET", "spillway:{ex}:members", "x", "{\"id\":\"x;y\"}"});
  a->announce(instance("a", 1, "z1"));
  b->announce(instance("b", 2, "z2"));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a" && b->announced(); }));
  EXPECT_GT(reader->counters().unsound.value(), 0U);
}

}  // namespace
}  // namespace spillway::adapters
