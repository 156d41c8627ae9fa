// Servers that come and go under load.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/haproxy_fixture.h"
#include "adapters/registry.h"
#include "app/balancer/change.h"
#include "app/balancer/haproxy_watch_fixture.h"
#include "app/balancer/load_fixture.h"
#include "app/balancer/membership.h"
#include "app/balancer/picture.h"

namespace spillway::app::balancing {
namespace {

using namespace std::chrono_literals;
using testing::HaproxyProcess;
using testing::kListen;
using testing::Load;
using testing::Speaker;

using Churn = testing::HaproxyWatchTest;

TEST_F(Churn, AThousandServersComeAndGoUnderLoadWithoutAReloadAndWithoutALostRequest) {
  constexpr size_t kStable = 4;
  constexpr size_t kPerRound = 20;
  constexpr size_t kCycles = 1'000;
  const Speaker agent(Speaker::Kind::kAgent, "up 100%\n");
  const HaproxyProcess haproxy(kListen);
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
  Load load(kStable, haproxy.front(), 4);
  config_.membership.check_inter = 50ms;
  fleet_ = {.reconciles = true, .known = true, .members = {}};
  for (size_t i = 0; i < kStable; ++i) {
    fleet_.members.push_back(member("stable-" + std::to_string(i), load.port(i), agent.port()));
  }
  const std::vector<adapters::RegistryInstance> stable = fleet_.members;
  watch(haproxy);
  ASSERT_TRUE(rounds_until([&] {
    return haproxy.stat("stable-0", "status") == "UP" && haproxy.stat("stable-3", "status") == "UP";
  }));
  const uint64_t pid = watch_->picture()->info.pid;
  const auto picked_by_churn = [&] {
    uint64_t picked = 0;
    if (watch_->picture() == nullptr) {
      return picked;
    }
    for (const auto& [name, server] : watch_->picture()->servers) {
      picked += name.starts_with("churn-") && !server.in_forced_maint() ? server.stat.picked : 0;
    }
    return picked;
  };
  uint64_t served = 0;
  load.begin();
  for (size_t cycle = 0; cycle < kCycles; cycle += kPerRound) {
    fleet_.members = stable;
    for (size_t i = cycle; i < cycle + kPerRound; ++i) {
      fleet_.members.push_back(member("churn-" + std::to_string(i), load.port(i), agent.port()));
    }
    ASSERT_TRUE(round());
    // They are removed once they have served.
    ASSERT_TRUE(rounds_until([&] { return picked_by_churn() >= kPerRound; })) << cycle;
    served += picked_by_churn();
  }
  fleet_.members = stable;
  ASSERT_TRUE(rounds_until([&] { return watch_->picture()->servers.size() == kStable; }));
  load.end();
  EXPECT_EQ(load.failed, 0U);
  EXPECT_GE(served, kCycles);
  EXPECT_GE(load.answered, served);
  EXPECT_EQ(changes(ChangeKind::kAdd), kStable + kCycles);
  EXPECT_EQ(changes(ChangeKind::kRemove), kCycles);
  EXPECT_EQ(declined(Declined::kRefused), 0U);
  EXPECT_EQ(watch_->picture()->info.pid, pid);
  RecordProperty("requests", std::to_string(load.answered));
}

}  // namespace
}  // namespace spillway::app::balancing
