#include "app/balancer/drain_watch.h"

#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "adapters/haproxy_report.h"
#include "app/balancer/picture.h"
#include "app/balancer/picture_fixture.h"
#include "base/time.h"

namespace spillway::app::balancing {
namespace {

using namespace std::chrono_literals;
using testing::add;
using testing::picture;

class DrainWatchTest : public ::testing::Test {
 protected:
  std::string_view look(base::Duration after = 1s) {
    at_ += after;
    return drains_.look("a", server_, at_);
  }

  /// As HAProxy shows it: "drain" names no health.
  void agent_drains() {
    server_.state.admin |= adapters::kForcedDrain;
    server_.stat.agent_status = "CHECKED";
  }

  void agent_dies() { server_.stat.agent_status = "L4CON"; }

  DrainWatch drains_{60s};
  Picture now_ = picture();
  ServerPicture& server_ = add(now_, "a", 100);
  base::Instant at_{};
};

TEST_F(DrainWatchTest, OneWhoseAgentDiedStandsUntilItIsStale) {
  EXPECT_EQ(look(), "");
  agent_drains();
  EXPECT_EQ(look(), "");
  EXPECT_TRUE(drains_.is_of_agent("a"));
  EXPECT_EQ(look(10min), "");  // as long as the agent says so
  agent_dies();
  EXPECT_EQ(look(), "");
  EXPECT_EQ(look(59s), "");
  EXPECT_NE(look(1s), "");
}

TEST_F(DrainWatchTest, AServerThatCameBackWithoutItsAgentIsDrainedNoLonger) {
  EXPECT_EQ(look(), "");
  agent_drains();
  EXPECT_EQ(look(), "");
  agent_dies();
  EXPECT_EQ(look(), "");
  server_.stat.check_status = "L4CON";
  EXPECT_EQ(look(10min), "");  // down: nothing to send there
  server_.stat.check_status = "L4OK";
  EXPECT_NE(look(), "");
}

TEST_F(DrainWatchTest, AnAgentThatCameBackAndSaysUpHasForgotten) {
  EXPECT_EQ(look(), "");
  agent_drains();
  EXPECT_EQ(look(), "");
  agent_dies();
  EXPECT_EQ(look(), "");
  server_.stat.agent_status = "L7OK";
  int looks = 1;
  while (look().empty() && looks < 20) {
    ++looks;
  }
  EXPECT_EQ(looks, 5);
}

TEST_F(DrainWatchTest, APersonsDrainStands) {
  EXPECT_EQ(look(), "");
  server_.state.admin |= adapters::kForcedDrain;  // while the agent says up
  EXPECT_EQ(look(), "");
  EXPECT_FALSE(drains_.is_of_agent("a"));
  EXPECT_EQ(look(10min), "");
  agent_drains();  // as well
  EXPECT_EQ(look(), "");
  EXPECT_FALSE(drains_.is_of_agent("a"));
  agent_dies();
  EXPECT_EQ(look(10min), "");
  server_.stat.check_status = "L4CON";
  EXPECT_EQ(look(), "");
  server_.stat.check_status = "L4OK";
  EXPECT_EQ(look(10min), "");
}

TEST_F(DrainWatchTest, OneOfAnAgentThatNeverNamesHealthCannotBeToldAndStands) {
  server_.stat.agent_status = "CHECKED";  // "50%"
  EXPECT_EQ(look(), "");
  server_.state.admin |= adapters::kForcedDrain;
  EXPECT_EQ(look(), "");
  agent_dies();
  EXPECT_EQ(look(10min), "");
}

TEST_F(DrainWatchTest, MaintenanceByAPersonIsTheirs) {
  EXPECT_EQ(look(), "");
  agent_drains();
  EXPECT_EQ(look(), "");
  agent_dies();
  server_.state.admin |= adapters::kForcedMaint;
  EXPECT_EQ(look(10min), "");
}

TEST_F(DrainWatchTest, EndedByTheAgentItselfItIsForgotten) {
  EXPECT_EQ(look(), "");
  agent_drains();
  EXPECT_EQ(look(), "");
  server_.state.admin = 0;
  server_.stat.agent_status = "L7OK";
  EXPECT_EQ(look(), "");
  EXPECT_FALSE(drains_.is_of_agent("a"));
  server_.state.admin |= adapters::kForcedDrain;  // a person's, this time
  EXPECT_EQ(look(), "");
  agent_dies();
  EXPECT_EQ(look(10min), "");
}

TEST_F(DrainWatchTest, ForEverWhenItIsToldSo) {
  drains_ = DrainWatch(0s);
  EXPECT_EQ(look(), "");
  agent_drains();
  EXPECT_EQ(look(), "");
  agent_dies();
  EXPECT_EQ(look(), "");
  EXPECT_EQ(look(24h), "");
}

}  // namespace
}  // namespace spillway::app::balancing
