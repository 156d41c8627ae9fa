#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

/// Two endpoints of one DSP and one of another, by virtual time.
class Contract : public ::testing::Test {
 protected:
  Contract() : display(at("dsp/eu/display")), video(at("dsp/us/video")), other(at("other/eu/x")) {}

  Guard& at(std::string_view key) {
    return registry.at(key, {.max_in_flight = 0}, base::Instant(1h));
  }

  bool call(Guard& guard) {
    auto permit = guard.admit(0, {.now = now, .offered = 300ms, .request_hash = ++hash});
    if (permit) {
      permit->finish(now, Outcome::kOk);
    }
    return permit.has_value();
  }

  struct Passed {
    uint64_t display = 0, video = 0, other = 0;

    [[nodiscard]] uint64_t both() const { return display + video; }
  };

  Passed run(base::Duration time) {
    Passed passed;
    for (const base::Instant end = now + time; now < end; now += 500us) {
      if (++turn % 3 != 0) {
        passed.display += call(display) ? 1 : 0;
      } else {
        passed.video += call(video) ? 1 : 0;
      }
      passed.other += call(other) ? 1 : 0;
    }
    return passed;
  }

  Registry registry{1, 7};
  base::Instant now{1h};
  uint64_t hash = 0;
  uint64_t turn = 0;
  Guard& display;
  Guard& video;
  Guard& other;
};

TEST_F(Contract, IsSharedExactlyByTheEndpointsOfADependency) {
  registry.set_contract("dsp", 100);
  const Passed passed = run(20s);
  EXPECT_LE(passed.both(), 2011U);
  EXPECT_GE(passed.both(), 2000U);
  EXPECT_GT(passed.video, 100U) << "both draw on it";
  EXPECT_EQ(passed.other, 40'000U) << "others are not held to it";
  EXPECT_EQ(display.totals().refused[2] + video.totals().refused[2], 40'000U - passed.both());
}

TEST_F(Contract, ChangesHotAndKeepsWhatWasTaken) {
  registry.set_contract("dsp", 10);
  run(1s);
  while (call(display)) {
  }
  registry.set_contract("dsp", 10);
  EXPECT_FALSE(call(display)) << "setting it again deals no new burst";
  registry.set_contract("dsp", 200);
  const Passed more = run(10s);
  EXPECT_LE(more.both(), 2021U);
  EXPECT_GE(more.both(), 1980U);
  registry.set_contract("dsp", 0);
  const Passed all = run(1s);
  EXPECT_EQ(all.both(), 2'000U);
}

TEST_F(Contract, HoldsForEndpointsThatComeLater) {
  registry.set_contract("dsp", 1);
  Guard& late = at("dsp/ap/display");
  EXPECT_TRUE(call(late));
  EXPECT_FALSE(call(late));
  EXPECT_FALSE(call(video));
}

TEST_F(Contract, OfALeafStandsOnTopAndARefusalTakesFromNeither) {
  registry.set_contract("dsp", 100);
  video.set_settings({.max_in_flight = 0, .qps = 5});
  Passed passed = run(10s);
  EXPECT_LE(passed.video, 51U);
  EXPECT_GE(passed.both(), 1000U) << "what the leaf refused was not taken from the dependency";
  EXPECT_LE(passed.both(), 1011U);
  // The other way round: the dependency refuses, so the leaf's token is given back.
  registry.set_contract("dsp", 1);
  now += 10s;
  ASSERT_TRUE(call(display));
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(call(video));
  }
  registry.set_contract("dsp", 0);
  EXPECT_TRUE(call(video));
}

TEST_F(Contract, GetsItsTokenBackFromARampThatRefuses) {
  registry.set_contract("dsp", 1'000);
  std::vector<Transition> log;
  display.set_mode(now, Mode::kForcedOpen, base::kNever, "drill", log);
  display.set_mode(now, Mode::kEnforce, base::kNever, "done", log);
  ASSERT_EQ(display.peek().state, State::kRamping);
  // 1 333 calls/s ask the ramp at 5 %, and 667 the other endpoint: under contract together, though
  // not if every ask had cost a token.
  const Passed passed = run(4s);
  EXPECT_LT(passed.display, 500U);
  EXPECT_EQ(passed.video, 2'666U);
  EXPECT_EQ(video.totals().refused[2], 0U);
  EXPECT_EQ(display.totals().refused[2], 0U);
}

TEST(Registry, HasNoContractForADependencyWithoutLeaves) {
  Registry registry(1, 1);
  registry.set_contract("nobody", 1);
  EXPECT_TRUE(registry.guards().empty());
}

}  // namespace
}  // namespace spillway::resilience
