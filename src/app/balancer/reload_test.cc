// HAProxy reloaded under load.
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "adapters/haproxy_fixture.h"
#include "adapters/redis_fixture.h"
#include "app/balancer/haproxy_watch_fixture.h"
#include "app/balancer/load_fixture.h"
#include "app/balancer/membership.h"

namespace spillway::app::balancing {
namespace {

using namespace std::chrono_literals;
using adapters::testing::eventually;
using testing::HaproxyProcess;
using testing::Load;
using testing::Speaker;

constexpr size_t kServers = 4;

class Reload : public testing::HaproxyWatchTest {
 protected:
  /// Members in place, their agents heard.
  void settle(HaproxyProcess& haproxy, const Load& load, const Speaker& agent,
              const std::string& first) {
    fleet_ = {.reconciles = true, .known = true, .members = {}};
    for (size_t i = 0; i < kServers; ++i) {
      fleet_.members.push_back(member("i-" + std::to_string(i), load.port(i), agent.port()));
    }
    ASSERT_TRUE(rounds_until([&] {
      size_t up = 0;
      for (const auto& [name, server] : watch_->picture()->servers) {
        up += server.stat.status == "UP" && server.state.user_weight == 60 ? 1 : 0;
      }
      return up == kServers;
    })) << haproxy.stat(first, "status");
    ASSERT_TRUE(round());
  }

  static bool answers(const Load& load, uint64_t more) {
    const uint64_t from = load.answered + load.failed;
    return eventually([&] { return load.answered + load.failed >= from + more; });
  }
};

// Not one round of the balancer between the reload and the end: what the file holds is enough.
TEST_F(Reload, LosesNoRequestWhereSlotsHaveTheirStateFile) {
  const adapters::testing::ScratchFolder folder;
  const std::string file = folder.path() + "/servers.state";
  const Speaker agent(Speaker::Kind::kAgent, "up 60%\n");
  HaproxyProcess haproxy(fmt::format(
      "\nlisten ex\n    bind FRONT\n    balance roundrobin\n    option idle-close-on-response\n"
      "    load-server-state-from-file local\n    server-state-file-name {}\n"
      "    server-template srv 1-8 slot.invalid:1 disabled init-addr last,0.0.0.0 weight 100 check "
      "inter 100ms agent-check "
      "agent-inter 100ms agent-send \"x\\n\" agent-port 1\n",
      file));
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
  config_.membership.mode = MembershipSettings::Mode::kSlots;
  watch(haproxy, file);
  Load load(kServers, haproxy.front(), 4);
  settle(haproxy, load, agent, "srv1");
  load.begin();
  ASSERT_TRUE(answers(load, 200));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(haproxy.reload());
    EXPECT_EQ(haproxy.stat("srv1", "uweight"), "60");
    EXPECT_EQ(haproxy.stat("srv1", "addr"), "127.0.0.1:" + std::to_string(load.port(0)));
    ASSERT_TRUE(answers(load, 300));
  }
  load.end();
  EXPECT_EQ(load.failed, 0U);
  EXPECT_TRUE(round());
  EXPECT_EQ(watch_->wanted().size(), 0U);
  EXPECT_EQ(watch_->state_file().failed(), 0U);
}

// What the file is for: without it the same reload finds nobody to send to.
TEST_F(Reload, LosesRequestsWhereServersWereAddedAtRunTimeUntilTheyAreAddedAgain) {
  const Speaker agent(Speaker::Kind::kAgent, "up 60%\n");
  HaproxyProcess haproxy(std::string(testing::kListen) + "    option idle-close-on-response\n");
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
  watch(haproxy);
  Load load(kServers, haproxy.front(), 4);
  settle(haproxy, load, agent, "i-0");
  load.begin();
  ASSERT_TRUE(answers(load, 200));
  EXPECT_EQ(load.failed, 0U);
  ASSERT_TRUE(haproxy.reload());
  ASSERT_TRUE(answers(load, 50));
  EXPECT_GT(load.failed, 0U);
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("i-3", "status") == "UP"; }));
  const uint64_t failed = load.failed;
  ASSERT_TRUE(answers(load, 100));
  EXPECT_LE(load.failed, failed + 4);  // those that were under way
}

}  // namespace
}  // namespace spillway::app::balancing
