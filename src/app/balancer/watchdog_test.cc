#include "app/balancer/watchdog.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "adapters/haproxy_report.h"
#include "app/balancer/change.h"
#include "app/balancer/picture.h"
#include "app/balancer/picture_fixture.h"
#include "base/time.h"

namespace spillway::app::balancing {
namespace {

using namespace std::chrono_literals;
using testing::add;
using testing::picture;
using testing::text_of;

class WatchdogTest : public ::testing::Test {
 protected:
  WatchdogTest() {
    add(now_, "a", 30);
    add(now_, "b", 80);
    add(now_, "c", 120);
    add(now_, "d", 200);
  }

  std::string look(base::Duration after, const ServerClasses& classes = {}) {
    at_ += after;
    changes_ = watchdog_.look(now_, classes, at_);
    return text_of(changes_);
  }

  void kill(const std::string& name) { now_.servers[name].stat.agent_status = "L4CON"; }

  Watchdog watchdog_{"ex", {.dead_after = 3s}};
  Picture now_ = picture();
  base::Instant at_{};
  std::vector<Change> changes_;
};

TEST_F(WatchdogTest, ASilentAgentLosesItsWeightToTheMeanOnceTheTimeIsOver) {
  EXPECT_EQ(look(0s), "");
  kill("a");
  EXPECT_EQ(look(1s), "");
  EXPECT_EQ(look(2s), "");
  EXPECT_EQ(look(1s), "reset a");
  EXPECT_EQ(changes_[0].commands.front(), "set server ex/a weight 133");
  EXPECT_EQ(changes_[0].commands.size(), 1U);
  EXPECT_EQ(watchdog_.dead(), 1U);
  EXPECT_EQ(look(10s), "");
}

TEST_F(WatchdogTest, TheMeanIsThatOfItsClassWhereThatIsKnown) {
  kill("a");
  const ServerClasses classes{{"a", "small"}, {"b", "small"}, {"c", "large"}, {"d", "large"}};
  EXPECT_EQ(look(0s, classes), "");
  EXPECT_EQ(look(3s, classes), "reset a");
  EXPECT_EQ(changes_[0].commands.front(), "set server ex/a weight 80");
}

TEST_F(WatchdogTest, WithoutASpeakingAgentTheInitialWeightIsNeutral) {
  for (const char* name : {"a", "b", "c", "d"}) {
    kill(name);
  }
  EXPECT_EQ(look(0s), "");
  EXPECT_EQ(look(3s), "reset a, reset b, reset c, reset d");
  EXPECT_EQ(changes_[3].commands.front(), "set server ex/d weight 100");
}

TEST_F(WatchdogTest, AServerThatItsAgentHadTakenDownIsUpAgain) {
  kill("a");
  now_.servers["a"].stat.status = "DOWN (agent)";
  EXPECT_EQ(look(0s), "");
  EXPECT_EQ(look(3s), "reset a");
  EXPECT_EQ(changes_[0].commands.back(), "set server ex/a agent up");
}

TEST_F(WatchdogTest, AnAgentThatSpeaksAgainWithoutAWeightGetsItsOwnBack) {
  kill("a");
  EXPECT_EQ(look(0s), "");
  EXPECT_EQ(look(3s), "reset a");
  now_.servers["a"].state.user_weight = 133;
  EXPECT_EQ(look(1s), "");
  now_.servers["a"].stat.agent_status = "L7OK";
  EXPECT_EQ(look(1s), "");  // it may name a weight yet
  EXPECT_EQ(look(1s), "restore a");
  EXPECT_EQ(changes_[0].commands.front(), "set server ex/a weight 30");
  EXPECT_EQ(watchdog_.dead(), 0U);
}

TEST_F(WatchdogTest, AnAgentThatSpeaksAgainWithAWeightIsLeftAlone) {
  kill("a");
  EXPECT_EQ(look(0s), "");
  EXPECT_EQ(look(3s), "reset a");
  now_.servers["a"].stat.agent_status = "L7OK";
  now_.servers["a"].state.user_weight = 45;
  EXPECT_EQ(look(1s), "");
  EXPECT_EQ(look(1s), "");
  EXPECT_EQ(watchdog_.dead(), 0U);
}

TEST_F(WatchdogTest, MaintenanceByPeopleIsNotTouched) {
  kill("a");
  now_.servers["a"].state.admin = adapters::kForcedMaint;
  EXPECT_EQ(look(0s), "");
  EXPECT_EQ(look(10s), "");
}

TEST_F(WatchdogTest, ABriefSilenceIsNoDeath) {
  kill("a");
  EXPECT_EQ(look(0s), "");
  now_.servers["a"].stat.agent_status = "L7OK";
  EXPECT_EQ(look(2s), "");
  kill("a");
  EXPECT_EQ(look(2s), "");
  EXPECT_EQ(look(2s), "");
}

TEST_F(WatchdogTest, ARestartBringsWeightsBackWhereNoAgentHasSpokenSince) {
  EXPECT_EQ(look(0s), "");
  now_.info.pid = 101;
  for (auto& [name, server] : now_.servers) {
    server.state.user_weight = 100;
    server.stat.agent_status = "INI";
  }
  now_.servers["b"].stat.agent_status = "L7OK";
  now_.servers["b"].state.user_weight = 90;
  now_.servers.erase("d");
  EXPECT_EQ(look(1s), "push a, push c");
  EXPECT_TRUE(watchdog_.restarted());
  EXPECT_EQ(changes_[0].commands.front(), "set server ex/a weight 30");
  EXPECT_EQ(watchdog_.lost().at("d"), 200U);
  EXPECT_EQ(look(1s), "");
  EXPECT_FALSE(watchdog_.restarted());
}

TEST_F(WatchdogTest, ASecondRestartBeforeTheAgentsSpokeLosesNothing) {
  EXPECT_EQ(look(0s), "");
  for (uint64_t pid = 101; pid < 103; ++pid) {
    now_.info.pid = pid;
    for (auto& [name, server] : now_.servers) {
      server.state.user_weight = 100;
      server.stat.agent_status = "INI";
    }
    EXPECT_EQ(look(1s), "push a, push b, push c, push d") << pid;
  }
}

}  // namespace
}  // namespace spillway::app::balancing
