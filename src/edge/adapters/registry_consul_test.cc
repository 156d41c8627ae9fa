// Against a stand-in that does what Consul's HTTP API documentation says, as there is no Consul to
// be had here.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "adapters/consul_fixture.h"
#include "adapters/registry.h"
#include "adapters/registry_fixture.h"
#include "adapters/registry_http.h"
#include "base/time.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using testing::instance;
using testing::quick;

class RegistryConsulTest : public testing::RegistryTest {
 protected:
  std::unique_ptr<Registry> open() {
    return consul_registry(reactor_, {.port = consul_.port(), .token = "secret"}, quick());
  }

  testing::ConsulStandIn consul_{reactor_, "ex"};
};

TEST_F(RegistryConsulTest, MembersComeStayAndGo) {
  members_come_stay_and_go([this] { return open(); });
  EXPECT_EQ(consul_.last_token, "secret");
}

TEST_F(RegistryConsulTest, AMemberThatDiesIsNoLongerPassing) {
  one_that_dies_leaves([this] { return open(); });
}

TEST_F(RegistryConsulTest, RegistersWithATtlCheckAndReadsPassingOnesByBlockingQueries) {
  auto a = open();
  auto reader = open();
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return a->announced(); }));
  EXPECT_NE(consul_.last_registration.find("\"TTL\":\"2s\""), std::string::npos);
  EXPECT_NE(consul_.last_registration.find("\"Status\":\"passing\""), std::string::npos);
  EXPECT_NE(consul_.last_registration.find("\"DeregisterCriticalServiceAfter\":\"60s\""),
            std::string::npos);
  watch(*reader);
  ASSERT_TRUE(run_until([&] { return consul_.reads == 2; }));
  EXPECT_EQ(consul_.last_query, "passing&index=8&wait=30s");
}

TEST_F(RegistryConsulTest, AnAgentThatForgotIsToldAgainInOldAndNewWords) {
  for (const bool old_words : {false, true}) {
    consul_.old_words = old_words;
    auto a = open();
    a->announce(instance("a", 1));
    ASSERT_TRUE(run_until([&] { return a->announced(); }));
    consul_.forget();
    ASSERT_TRUE(run_until([&] { return a->counters().lost.value() == 1 && a->announced(); }));
    EXPECT_EQ(a->counters().registrations.value(), 2U);
    EXPECT_EQ(consul_.services.size(), 1U);
  }
}

TEST_F(RegistryConsulTest, AnEmptyAddressIsTheNodes) {
  consul_.empty_address = true;
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  EXPECT_EQ(reader->view().instances[0].host, "10.0.0.1");
}

TEST_F(RegistryConsulTest, AReturnIsNoProofOfAChange) {
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a" && consul_.reads >= 3; }));
  const uint64_t changes = changes_;
  consul_.touch();  // somebody else's write
  consul_.wake();
  const uint64_t reads = consul_.reads;
  ASSERT_TRUE(run_until([&] { return consul_.reads > reads; }));
  consul_.wake();  // the wait is over, the index the same
  ASSERT_TRUE(run_until([&] { return reader->counters().idle_wakes.value() > 0; }));
  EXPECT_EQ(changes_, changes);
}

TEST_F(RegistryConsulTest, AnIndexThatGoesBackIsForgotten) {
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a" && consul_.reads >= 3; }));
  consul_.index = 2;  // restored from a snapshot
  consul_.wake();
  const uint64_t reads = consul_.reads;
  ASSERT_TRUE(run_until([&] { return consul_.reads > reads; }));
  EXPECT_EQ(consul_.queries.at(reads), "passing");
  EXPECT_EQ(reader->counters().index_resets.value(), 1U);
  EXPECT_EQ(ids(*reader), "a");
}

TEST_F(RegistryConsulTest, QueriesThatDoNotBlockAreNotABusyLoop) {
  consul_.returns_at_once = true;
  auto reader = open();
  watch(*reader);
  const base::Instant begin = reactor_.refresh();
  ASSERT_TRUE(run_until([&] { return consul_.reads >= 12; }));
  // The first and a burst of two, and one each 100 ms from then on.
  EXPECT_GE(reactor_.refresh() - begin, 800ms);
}

TEST_F(RegistryConsulTest, AnEmptySetIsConfirmedWithoutWaitingForAChange) {
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  a->withdraw();
  ASSERT_TRUE(run_until([&] { return reader->held_size() == 0U; }));
  EXPECT_EQ(ids(*reader), "a");
  ASSERT_TRUE(run_until([&] { return ids(*reader).empty(); }));
  EXPECT_EQ(reader->counters().held[static_cast<size_t>(RegistryHold::kEmpty)].value(), 3U);
}

TEST_F(RegistryConsulTest, AnswersThatAreNoListAreCountedAndRetried) {
  auto reader = consul_registry(reactor_, {.port = consul_.port()},
                                {.service = "other", .poll = 100ms, .timeout = 2s});
  watch(*reader);
  ASSERT_TRUE(run_until([&] {
    return reader->counters().read_errors[static_cast<size_t>(RegistryErrc::kStatus)].value() >= 2;
  }));
  EXPECT_TRUE(reader->last_error().starts_with("health/service: HTTP 404"));
  EXPECT_FALSE(reader->view().known);
}

}  // namespace
}  // namespace spillway::adapters
