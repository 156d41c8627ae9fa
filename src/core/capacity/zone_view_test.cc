#include "capacity/zone_view.h"

#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "capacity/sample.h"

namespace spillway::capacity {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr base::Instant kNow{std::chrono::hours(1)};

Sample sample_of(const std::string& id, double capacity = 1000, uint64_t sequence = 1) {
  Sample sample;
  sample.id = id;
  sample.zone = "a";
  sample.server_class = "c5";
  sample.capacity = capacity;
  sample.utilization = 0.5;
  sample.successes_per_second = 500;
  sample.weight = 100;
  sample.sequence = sequence;
  sample.taken_at = kNow;
  return sample;
}

std::vector<std::string> ids(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    names.push_back("s" + std::to_string(i));
  }
  return names;
}

TEST(ZoneView, MeansAndMediansAreOfLivePeersOfTheZone) {
  ZoneView view;
  ASSERT_TRUE(view.put(kNow, sample_of("s1", 1000)));
  ASSERT_TRUE(view.put(kNow, sample_of("s2", 2000)));
  auto other_class = sample_of("s3", 6000);
  other_class.server_class = "c6";
  other_class.utilization = 0.8;
  ASSERT_TRUE(view.put(kNow, other_class));
  auto other_zone = sample_of("s4", 9000);
  other_zone.zone = "b";
  ASSERT_TRUE(view.put(kNow, other_zone));
  const auto zone = view.summary(kNow, "self", "a", "c5");
  EXPECT_EQ(zone.live, 3);
  EXPECT_EQ(zone.estimating, 3);
  EXPECT_EQ(zone.capacity_sum, 9000);
  EXPECT_EQ(zone.max_capacity, 6000);
  EXPECT_EQ(zone.median_capacity, 2000);
  EXPECT_EQ(zone.class_capacity, 1500);
  EXPECT_EQ(zone.class_peers, 2);
  EXPECT_NEAR(zone.utilization_sum, 1.8, 1e-12);
  EXPECT_EQ(zone.weight_sum, 300);
  EXPECT_EQ(view.median_capacity(kNow, "b", "c5"), 9000);
  EXPECT_EQ(view.median_capacity(kNow, "b", "c7"), 0);
}

TEST(ZoneView, AServerIsNotItsOwnPeer) {
  ZoneView view;
  ASSERT_TRUE(view.put(kNow, sample_of("self")));
  ASSERT_TRUE(view.put(kNow, sample_of("s1")));
  const auto zone = view.summary(kNow, "self", "a", "c5");
  EXPECT_EQ(zone.live, 1);
  EXPECT_EQ(zone.members, 1);
}

TEST(ZoneView, AClassUnknownInTheZoneIsLookedForInOthers) {
  ZoneView view;
  auto elsewhere = sample_of("s1", 700);
  elsewhere.zone = "b";
  ASSERT_TRUE(view.put(kNow, elsewhere));
  const auto zone = view.summary(kNow, "self", "a", "c5");
  EXPECT_EQ(zone.live, 0);
  EXPECT_EQ(zone.class_capacity, 700);
}

TEST(ZoneView, WhoDrainsOrWarmsIsNotCounted) {
  ZoneView view;
  for (const auto state : {ServerState::kWarming, ServerState::kDraining, ServerState::kFrozen}) {
    auto sample = sample_of("s" + std::to_string(static_cast<int>(state)));
    sample.state = state;
    ASSERT_TRUE(view.put(kNow, sample));
  }
  EXPECT_EQ(view.summary(kNow, "self", "a", "c5").live, 1);
}

TEST(ZoneView, ADeadSensorIsNotInTheMeanOfUtilization) {
  ZoneView view;
  auto dead = sample_of("s1");
  dead.sensor_alive = false;
  dead.utilization = 0;
  ASSERT_TRUE(view.put(kNow, dead));
  ASSERT_TRUE(view.put(kNow, sample_of("s2")));
  const auto zone = view.summary(kNow, "self", "a", "c5");
  EXPECT_EQ(zone.live, 2);
  EXPECT_EQ(zone.sensing, 1);
  EXPECT_EQ(zone.utilization_sum, 0.5);
}

TEST(ZoneView, AStaleSampleIsNotLiveAndLaterForgotten) {
  ZoneView view;
  ASSERT_TRUE(view.put(kNow, sample_of("s1")));
  EXPECT_EQ(view.summary(kNow + seconds(6), "self", "a", "c5").live, 1);
  EXPECT_EQ(view.summary(kNow + seconds(7), "self", "a", "c5").live, 0);
  EXPECT_NE(view.find("s1"), nullptr);
  auto fresh = sample_of("s2");
  fresh.taken_at = kNow + minutes(11);
  ASSERT_TRUE(view.put(kNow + minutes(11), fresh));
  EXPECT_EQ(view.find("s1"), nullptr);
}

TEST(ZoneView, TheMeanAgeIsThatOfTheLiveSamples) {
  ZoneView view;
  ASSERT_TRUE(view.put(kNow, sample_of("s1")));
  auto later = sample_of("s2");
  later.taken_at = kNow + seconds(2);
  ASSERT_TRUE(view.put(kNow + seconds(2), later));
  EXPECT_EQ(view.summary(kNow + seconds(4), "self", "a", "c5").mean_age, seconds(3));
}

TEST(ZoneView, OnePeersAbsurdCapacityDoesNotMoveTheMeanBeyondMeasure) {
  ZoneView view;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(view.put(kNow, sample_of("s" + std::to_string(i), 1000)));
  }
  ASSERT_TRUE(view.put(kNow, sample_of("liar", 1e9)));
  const auto zone = view.summary(kNow, "self", "a", "c5");
  EXPECT_EQ(zone.max_capacity, 16'000);
  EXPECT_EQ(zone.capacity_sum, 21'000);
}

struct Implausible {
  std::string name;
  SampleErrc errc;
  std::function<void(Sample&)> spoil;
};

class ImplausibleSample : public ::testing::TestWithParam<Implausible> {};

TEST_P(ImplausibleSample, IsRefusedWithItsReasonAndCounted) {
  ZoneView view;
  ASSERT_TRUE(view.put(kNow, sample_of("s1", 1000, 5)));
  auto sample = sample_of("s1", 2000, 6);
  GetParam().spoil(sample);
  const auto taken = view.put(kNow, sample);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error(), GetParam().errc) << to_string(taken.error());
  EXPECT_EQ(view.refused(GetParam().errc), 1);
  EXPECT_EQ(view.find("s1")->capacity, 1000);
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

INSTANTIATE_TEST_SUITE_P(
    Each, ImplausibleSample,
    ::testing::Values(
        Implausible{"NoId", SampleErrc::kBadName, [](auto& s) { s.id.clear(); }},
        Implausible{"LongZone", SampleErrc::kBadName, [](auto& s) { s.zone.assign(129, 'z'); }},
        Implausible{"Nan", SampleErrc::kNotANumber, [](auto& s) { s.utilization = kNan; }},
        Implausible{"Infinite", SampleErrc::kNotANumber, [](auto& s) { s.capacity = kInfinity; }},
        Implausible{"Negative", SampleErrc::kOutOfRange,
                    [](auto& s) { s.successes_per_second = -1; }},
        Implausible{"TooFull", SampleErrc::kOutOfRange, [](auto& s) { s.utilization = 1.01; }},
        Implausible{"TooHeavy", SampleErrc::kOutOfRange, [](auto& s) { s.weight = 257; }},
        Implausible{"TooFast", SampleErrc::kOutOfRange, [](auto& s) { s.capacity = 2e9; }},
        Implausible{"NegativeWindow", SampleErrc::kOutOfRange,
                    [](auto& s) { s.window = seconds(-1); }},
        Implausible{"SameSequence", SampleErrc::kOlder, [](auto& s) { s.sequence = 5; }},
        Implausible{"OlderSequence", SampleErrc::kOlder, [](auto& s) { s.sequence = 4; }},
        Implausible{"Future", SampleErrc::kFromFuture,
                    [](auto& s) { s.taken_at = kNow + seconds(3); }},
        Implausible{"Ancient", SampleErrc::kTooOld,
                    [](auto& s) { s.taken_at = kNow - minutes(11); }}),
    [](const auto& of) { return of.param.name; });

TEST(ZoneView, ARestartedProcessCountsAnew) {
  ZoneView view;
  auto before = sample_of("s1", 1000, 900);
  before.started_at_ms = 50;
  ASSERT_TRUE(view.put(kNow, before));
  auto after = sample_of("s1", 1100, 1);
  after.started_at_ms = 60;
  EXPECT_TRUE(view.put(kNow, after));
  EXPECT_FALSE(view.put(kNow, before));  // A late message of the earlier process.
}

TEST(ZoneView, AProcessWhoseClockWentBackIsHeardOnceItsPredecessorIsStale) {
  ZoneView view;
  auto before = sample_of("s1", 1000, 900);
  before.started_at_ms = 60;
  ASSERT_TRUE(view.put(kNow, before));
  auto after = sample_of("s1", 1100, 1);
  after.started_at_ms = 50;
  after.taken_at = kNow + seconds(5);
  EXPECT_FALSE(view.put(kNow + seconds(5), after));
  EXPECT_TRUE(view.put(kNow + seconds(7), after));
}

TEST(ZoneView, ItHoldsAtMostMaxServers) {
  ZoneView view({.max_servers = 2});
  ASSERT_TRUE(view.put(kNow, sample_of("s1")));
  ASSERT_TRUE(view.put(kNow, sample_of("s2")));
  EXPECT_EQ(view.put(kNow, sample_of("s3")).error(), SampleErrc::kFull);
  EXPECT_TRUE(view.put(kNow, sample_of("s2", 1000, 2)));  // A known one goes on.
  EXPECT_EQ(view.set_members(ids(3), true).error(), MembersErrc::kTooMany);
}

TEST(ZoneView, WithARegistryOnlyMembersAreHeard) {
  ZoneView view;
  ASSERT_TRUE(view.put(kNow, sample_of("s9")));
  ASSERT_TRUE(view.set_members(ids(4), false));
  EXPECT_EQ(view.find("s9"), nullptr);
  EXPECT_EQ(view.put(kNow, sample_of("s9", 1, 2)).error(), SampleErrc::kNotAMember);
  EXPECT_TRUE(view.put(kNow, sample_of("s3")));
  EXPECT_EQ(view.summary(kNow, "s0", "a", "c5").members, 3);
  view.learn_members();
  EXPECT_TRUE(view.put(kNow, sample_of("s9", 1, 2)));
}

TEST(ZoneView, AMembershipOfLessThanHalfNeedsConfirmation) {
  ZoneView view;
  ASSERT_TRUE(view.set_members(ids(10), false));
  EXPECT_EQ(view.set_members(ids(4), false).error(), MembersErrc::kFewerThanHalf);
  EXPECT_EQ(view.set_members({}, false).error(), MembersErrc::kEmpty);
  EXPECT_EQ(view.members().size(), 10);
  EXPECT_EQ(view.memberships_refused(), 2);
  EXPECT_TRUE(view.set_members(ids(5), false));
  EXPECT_TRUE(view.set_members(ids(1), true));
  EXPECT_TRUE(view.set_members({}, true));
}

TEST(ZoneView, AFirstMembershipIsHeldAgainstThoseHeardOf) {
  ZoneView view;
  for (const auto& id : ids(10)) {
    ASSERT_TRUE(view.put(kNow, sample_of(id)));
  }
  EXPECT_EQ(view.set_members(ids(3), false).error(), MembersErrc::kFewerThanHalf);
  EXPECT_NE(view.find("s9"), nullptr);
}

TEST(ZoneView, AMembershipWithABadNameIsRefused) {
  ZoneView view;
  EXPECT_EQ(view.set_members(std::vector<std::string>{"a", ""}, true).error(),
            MembersErrc::kBadName);
}

TEST(ZoneView, ANewMembershipKeepsTheSamplesOfThoseThatStay) {
  ZoneView view;
  ASSERT_TRUE(view.set_members(ids(4), false));
  ASSERT_TRUE(view.put(kNow, sample_of("s1")));
  ASSERT_TRUE(view.set_members(ids(3), false));
  EXPECT_EQ(view.find("s1")->capacity, 1000);
}

}  // namespace
}  // namespace spillway::capacity
