#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "adapters/etcd_fixture.h"
#include "adapters/registry.h"
#include "adapters/registry_fixture.h"
#include "adapters/registry_http.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using testing::instance;
using testing::quick;

class RegistryEtcdTest : public testing::RegistryTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.running()) << "etcd does not run: tools/setup check";
  }

  std::unique_ptr<Registry> open(uint32_t confirm_reads = 4) {
    auto settings = quick();
    settings.ttl = 3s;
    settings.confirm_reads = confirm_reads;
    return etcd_registry(reactor_, {.port = server_.port()}, settings);
  }

  testing::EtcdProcess server_;
};

TEST_F(RegistryEtcdTest, MembersComeStayAndGo) {
  members_come_stay_and_go([this] { return open(); });
}

TEST_F(RegistryEtcdTest, AMemberThatDiesLeavesWithItsLease) {
  one_that_dies_leaves([this] { return open(); });
}

TEST_F(RegistryEtcdTest, AnExpiredLeaseIsGrantedAnew) {
  auto a = open();
  auto reader = open(200);
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  const std::string leases = server_.post("/v3/lease/leases", "{}");
  const size_t at = leases.find("\"ID\":\"");
  ASSERT_NE(at, std::string::npos) << leases;
  const std::string id = leases.substr(at + 6, leases.find('"', at + 6) - at - 6);
  (void)server_.post("/v3/lease/revoke", "{\"ID\":\"" + id + "\"}");
  ASSERT_TRUE(run_until([&] { return a->counters().lost.value() == 1 && a->announced(); }));
  EXPECT_EQ(ids(*reader), "a");
  ASSERT_TRUE(run_until([&] { return !reader->held_size(); }));
  EXPECT_EQ(ids(*reader), "a");
}

TEST_F(RegistryEtcdTest, TheSetSurvivesARestartOfEtcd) {
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  server_.kill();
  ASSERT_TRUE(run_until([&] {
    return reader->counters()
               .read_errors[static_cast<size_t>(RegistryErrc::kUnreachable)]
               .value() >= 2;
  }));
  EXPECT_EQ(ids(*reader), "a");
  server_.start();
  ASSERT_TRUE(server_.running());
  const uint64_t before = reader->counters().reads.value();
  ASSERT_TRUE(run_until([&] { return reader->counters().reads.value() > before + 6; }));
  EXPECT_EQ(ids(*reader), "a");
}

}  // namespace
}  // namespace spillway::adapters
