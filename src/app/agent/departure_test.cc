#include "app/agent/departure.h"

#include <chrono>

#include <gtest/gtest.h>

#include "adapters/agent_check.h"
#include "base/time.h"

namespace spillway::app::agent {
namespace {

using namespace std::chrono_literals;
using adapters::AgentWord;

constexpr base::Instant kStart{1h};
constexpr DepartureSettings kSettings{.wait = 30s, .announce = 4s, .ready_for = 3s};

TEST(Departure, SaysReadyOnlyAfterADrainOfItsOwnAndOnlyForAWhile) {
  Departure departure(kSettings);
  EXPECT_EQ(departure.word(kStart), AgentWord::kUp);
  departure.come_back(kStart);
  EXPECT_EQ(departure.word(kStart), AgentWord::kUp);
  departure.drain(kStart, DrainReason::kOperator);
  EXPECT_EQ(departure.word(kStart + 1h), AgentWord::kDrain);
  departure.come_back(kStart + 1h);
  EXPECT_EQ(departure.word(kStart + 1h), AgentWord::kReadyUp);
  EXPECT_EQ(departure.word(kStart + 1h + 2999ms), AgentWord::kReadyUp);
  EXPECT_EQ(departure.word(kStart + 1h + 3s), AgentWord::kUp);
}

TEST(Departure, ADrainWhileReturningWins) {
  Departure departure(kSettings);
  departure.drain(kStart, DrainReason::kRebalance);
  departure.come_back(kStart + 1s);
  departure.drain(kStart + 2s, DrainReason::kSpotInterruption);
  EXPECT_EQ(departure.word(kStart + 2s), AgentWord::kDrain);
  EXPECT_EQ(departure.reason(), DrainReason::kSpotInterruption);
}

TEST(Departure, EndsWhenQuietAndAnnouncedOrWhenTheTimeIsOver) {
  Departure departure(kSettings);
  EXPECT_FALSE(departure.is_over(kStart + 1h, true));
  departure.leave(kStart);
  EXPECT_FALSE(departure.is_over(kStart + 3s, true));
  EXPECT_TRUE(departure.is_over(kStart + 4s, true));
  EXPECT_FALSE(departure.is_over(kStart + 29s, false));
  EXPECT_TRUE(departure.is_over(kStart + 30s, false));
  departure.come_back(kStart + 5s);
  EXPECT_EQ(departure.word(kStart + 5s), AgentWord::kDrain);
}

TEST(Departure, OneThatDrainedBeforeCountsItsTimeFromThen) {
  Departure departure(kSettings);
  departure.drain(kStart, DrainReason::kSpotInterruption);
  departure.leave(kStart + 10s);
  EXPECT_TRUE(departure.is_over(kStart + 10s, true));
}

TEST(Departure, AnEarlierProcesssDrainIsEndedAtTheStart) {
  Departure departure(kSettings);
  departure.resume_drained(kStart);
  EXPECT_EQ(departure.word(kStart), AgentWord::kReadyUp);
  EXPECT_EQ(departure.word(kStart + 3s), AgentWord::kUp);
}

}  // namespace
}  // namespace spillway::app::agent
