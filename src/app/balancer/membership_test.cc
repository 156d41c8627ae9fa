#include "app/balancer/membership.h"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/haproxy_report.h"
#include "app/balancer/change.h"
#include "app/balancer/picture.h"
#include "app/balancer/picture_fixture.h"

namespace spillway::app::balancing {
namespace {

using testing::add;
using testing::member;
using testing::picture;
using testing::text_of;

uint32_t declined(const MembershipPlan& plan, Declined why) {
  return plan.declined.at(static_cast<size_t>(why));
}

TEST(Membership, AddsWhatIsMissingWithEverythingEnabled) {
  Membership membership("ex", {});
  const auto plan = membership.plan(picture(), {member("a")}, {});
  ASSERT_EQ(text_of(plan.changes), "add a");
  const std::vector<std::string> expected{
      "add server ex/a 10.0.0.1:80 weight 100 check inter 1000 fall 2 rise 1 agent-check "
      "agent-port 9100 agent-inter 500 agent-send \"spillway/1\\n\"",
      "enable health ex/a", "enable agent ex/a", "enable server ex/a"};
  EXPECT_EQ(plan.changes[0].commands, expected);
}

TEST(Membership, AnInstanceWithoutAgentHasNoAgentCheck) {
  Membership membership("ex", {.options = "proto h2"});
  auto plain = member("a");
  plain.agent_port = 0;
  plain.host = "2001:db8::1";
  const auto plan = membership.plan(picture(), {plain}, {});
  const std::vector<std::string> expected{
      "add server ex/a [2001:db8::1]:80 weight 100 check inter 1000 fall 2 rise 1 proto h2",
      "enable health ex/a", "enable server ex/a"};
  EXPECT_EQ(plan.changes[0].commands, expected);
}

TEST(Membership, AServerThatIsAddedAgainAfterARestartHasItsWeight) {
  Membership membership("ex", {});
  const auto plan = membership.plan(picture(), {member("a")}, {{"a", 37}});
  EXPECT_EQ(plan.changes[0].commands[3], "set server ex/a weight 37");
}

TEST(Membership, RemovesWhatTheRegistryLacksButNotWhatIsToBeKept) {
  Membership membership("ex", {.keep = {"fixed"}});
  Picture now = picture();
  add(now, "a", 100);
  add(now, "b", 100);
  add(now, "fixed", 100);
  const auto plan = membership.plan(now, {member("a")}, {});
  ASSERT_EQ(text_of(plan.changes), "remove b");
  const std::vector<std::string> expected{"disable agent ex/b", "set server ex/b state maint",
                                          "del server ex/b"};
  EXPECT_EQ(plan.changes[0].commands, expected);
}

TEST(Membership, AServerWithAnotherAddressIsReplaced) {
  Membership membership("ex", {});
  Picture now = picture();
  add(now, "a", 100, 81);
  const auto plan = membership.plan(now, {member("a", 80)}, {});
  EXPECT_EQ(text_of(plan.changes), "remove a");
}

TEST(Membership, MaintenanceByPeopleStands) {
  Membership membership("ex", {});
  Picture now = picture();
  add(now, "a", 100).state.admin = adapters::kForcedMaint;
  const auto plan = membership.plan(now, {member("a")}, {});
  EXPECT_EQ(text_of(plan.changes), "");
  EXPECT_EQ(plan.by_people, 1U);
  EXPECT_EQ(declined(plan, Declined::kByPeople), 1U);
}

TEST(Membership, MaintenanceByTheResolverIsToldApart) {
  Membership membership("ex", {});
  Picture now = picture();
  add(now, "a", 100).state.admin = adapters::kResolverMaint;
  const auto plan = membership.plan(now, {member("a")}, {});
  EXPECT_EQ(plan.by_people, 0U);
  EXPECT_EQ(plan.by_resolver, 1U);
}

TEST(Membership, OurOwnMaintenanceEndsWhenTheInstanceIsBack) {
  Membership membership("ex", {});
  Picture now = picture();
  add(now, "a", 100);
  auto plan = membership.plan(now, {}, {});
  ASSERT_EQ(text_of(plan.changes), "remove a");
  membership.note(plan.changes[0]);
  now.servers["a"].state.admin = adapters::kForcedMaint;
  EXPECT_EQ(text_of(membership.plan(now, {}, {}).changes), "remove a");  // tried again
  plan = membership.plan(now, {member("a")}, {});
  EXPECT_EQ(text_of(plan.changes), "return a");
}

TEST(Membership, ARoundIsBounded) {
  Membership membership("ex", {.max_changes = 3});
  std::vector<adapters::RegistryInstance> members;
  for (int i = 0; i < 10; ++i) {
    members.push_back(member("a" + std::to_string(i)));
  }
  const auto plan = membership.plan(picture(), members, {});
  EXPECT_EQ(plan.changes.size(), 3U);
  EXPECT_EQ(declined(plan, Declined::kRoundFull), 7U);
}

class MembershipSlots : public ::testing::Test {
 protected:
  MembershipSlots() {
    for (const char* name : {"srv1", "srv2"}) {
      auto& slot = add(now_, name, 7, 1);
      slot.state.address = "0.0.0.0";
      slot.state.admin = adapters::kForcedMaint;
    }
    add(now_, "other", 100, 9);
  }

  Membership membership_{"ex", {.mode = MembershipSettings::Mode::kSlots}};
  Picture now_ = picture();
};

TEST_F(MembershipSlots, AFreeSlotTakesAnInstanceAndForgetsItsLastWeight) {
  const auto plan = membership_.plan(now_, {member("a")}, {});
  ASSERT_EQ(text_of(plan.changes), "assign srv1");
  EXPECT_EQ(plan.free_slots, 1U);
  EXPECT_EQ(plan.changes[0].commands[0], "set server ex/srv1 addr 10.0.0.1 port 80");
  EXPECT_EQ(plan.changes[0].commands[1], "set server ex/srv1 weight 100");
  EXPECT_EQ(plan.changes[0].commands.back(), "set server ex/srv1 state ready");
}

TEST_F(MembershipSlots, MoreInstancesThanSlotsAreCounted) {
  const auto plan = membership_.plan(now_, {member("a", 1), member("b", 2), member("c", 3)}, {});
  EXPECT_EQ(text_of(plan.changes), "assign srv1, assign srv2");
  EXPECT_EQ(plan.free_slots, 0U);
  EXPECT_EQ(declined(plan, Declined::kNoFreeSlot), 1U);
}

TEST_F(MembershipSlots, ASlotWhoseInstanceHasGoneIsReleasedAndNothingElseIsTouched) {
  now_.servers["srv1"].state.address = "10.0.0.1";
  now_.servers["srv1"].state.port = 80;
  now_.servers["srv1"].state.admin = 0;
  EXPECT_EQ(text_of(membership_.plan(now_, {member("a")}, {}).changes), "");
  EXPECT_EQ(text_of(membership_.plan(now_, {}, {}).changes), "release srv1");
}

TEST_F(MembershipSlots, AnOccupiedSlotInMaintenanceByPeopleStaysSo) {
  now_.servers["srv1"].state.address = "10.0.0.1";
  now_.servers["srv1"].state.port = 80;
  const auto plan = membership_.plan(now_, {member("a")}, {});
  EXPECT_EQ(text_of(plan.changes), "");
  EXPECT_EQ(plan.by_people, 1U);
}

TEST(Change, IsJudgedByTheAnswersOfHaproxy) {
  const Change remove{
      .kind = ChangeKind::kRemove,
      .server = "a",
      .why = {},
      .commands = {"disable agent ex/a", "set server ex/a state maint", "del server ex/a"}};
  EXPECT_TRUE(judge(remove, {"", "", "Server deleted."}, 0).done);
  const auto held =
      judge(remove, {"", "", "Server still has connections attached to it, cannot remove it."}, 0);
  EXPECT_FALSE(held.done);
  EXPECT_TRUE(held.still_connected);
  const auto refused = judge(remove, {"No such backend.", "", ""}, 0);
  EXPECT_FALSE(refused.done);
  EXPECT_FALSE(refused.still_connected);
  EXPECT_EQ(refused.said, "No such backend.");
}

}  // namespace
}  // namespace spillway::app::balancing
