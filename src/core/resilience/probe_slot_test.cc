#include "resilience/probe_slot.h"

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/time.h"
#include "resilience/outcome.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

class ProbeSlots : public testing::Test {
 protected:
  ProbeSlots() { slot_.arm(7, 5, 6, 2); }

  void probe(Verdict verdict) {
    const uint32_t lease = slot_.take(7, kStart, 1s);
    ASSERT_NE(lease, 0U);
    slot_.settle(7, lease, verdict);
  }

  ProbeSlot slot_{kStart};
};

TEST_F(ProbeSlots, GivesOneAtATimeOfItsEpochOnly) {
  EXPECT_EQ(slot_.take(6, kStart, 1s), 0U);
  const uint32_t lease = slot_.take(7, kStart, 1s);
  EXPECT_NE(lease, 0U);
  EXPECT_EQ(slot_.take(7, kStart, 1s), 0U);
  slot_.settle(6, lease, Verdict::kGood);
  EXPECT_EQ(slot_.take(7, kStart, 1s), 0U);
  slot_.settle(7, lease, Verdict::kNeutral);
  EXPECT_NE(slot_.take(7, kStart, 1s), 0U);
}

TEST_F(ProbeSlots, FiveGoodOfTheLastSixDecideForTheDependency) {
  for (int i = 0; i < 4; ++i) {
    probe(Verdict::kGood);
  }
  probe(Verdict::kBad);
  EXPECT_EQ(slot_.round().says, ProbeRound::Says::kUndecided);
  probe(Verdict::kGood);
  EXPECT_EQ(slot_.round().says, ProbeRound::Says::kGood);
  EXPECT_EQ(slot_.take(7, kStart, 1s), 0U) << "decided: no more are sent";
}

TEST_F(ProbeSlots, TwoBadDecideAgainstIt) {
  probe(Verdict::kBad);
  probe(Verdict::kGood);
  probe(Verdict::kBad);
  EXPECT_EQ(slot_.round().says, ProbeRound::Says::kBad);
}

TEST_F(ProbeSlots, ANewRoundKeepsTheResults) {
  probe(Verdict::kBad);
  slot_.rearm();
  EXPECT_FALSE(slot_.round().sent);
  EXPECT_EQ(slot_.round().bad, 1U);
}

TEST_F(ProbeSlots, LeasesOutliveTheWrapOfTheirClock) {
  const base::Instant late = kStart + ((1LL << 28) - 5) * 1ms;
  const uint32_t lease = slot_.take(7, late, 20ms);
  ASSERT_NE(lease, 0U);
  EXPECT_EQ(slot_.take(7, late + 10ms, 20ms), 0U);
  EXPECT_NE(slot_.take(7, late + 21ms, 20ms), 0U);
}

}  // namespace
}  // namespace spillway::resilience
