#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "proof/explorer.h"
#include "resilience/guard.h"
#include "resilience/leaf_test.h"
#include "resilience/outcome.h"
#include "resilience/proof.h"
#include "resilience/window.h"

// Every interleaving of trip, probe, late result and change of mode or settings, over the guards'
// own code: traps B7, B10, B11, invariants 1, 2, 3, 10, 13.

namespace spillway::resilience {
namespace {

/// A leaf of three workers; counts probes in flight and checks what must hold in every scenario.
class Scene : public interleave::World {
 public:
  Leaf leaf{{.open_min = 500ms, .open_max = 2s, .ramp = 2s}, 3};
  uint32_t first_epoch = leaf.guard.peek().epoch;
  bool forced = false;

  std::expected<Permit, Refusal> admit(uint32_t worker, base::Duration later = {}) {
    const bool was_forced = forced;
    auto permit = leaf.guard.admit(
        worker, {.now = leaf.now + later, .offered = 300ms, .request_hash = worker});
    if (permit) {
      ++admitted;
      if (was_forced) {
        broken("admitted after the operator forced it open");
      }
      if (permit->terms().how == Admitted::kProbe && ++probes_in_flight > 1) {
        broken("two probes in flight");
      }
    }
    return permit;
  }

  void finish(Permit permit, Outcome outcome) {
    probes_in_flight -= permit.terms().how == Admitted::kProbe ? 1 : 0;
    permit.finish(leaf.now, outcome);
  }

  void call(uint32_t worker, Outcome outcome) {
    if (auto permit = admit(worker)) {
      finish(std::move(*permit), outcome);
    }
  }

  void mode(Mode mode) {
    leaf.guard.set_mode(leaf.now, mode, base::kNever, "test", leaf.log);
    forced = mode == Mode::kForcedOpen;
  }

  void tick() { leaf.guard.tick(leaf.now, leaf.log); }

  void check() override {
    const Peek seen = leaf.guard.peek();
    uint32_t epoch = first_epoch;
    for (const Transition& moved : leaf.log) {
      if (moved.epoch != ++epoch) {
        broken("an epoch without its transition");
      }
    }
    if (seen.epoch != epoch) {
      broken("an epoch without its transition");
    }
    if (seen.in_flight != 0 && probes_in_flight == 0) {
      broken("a permit that did not settle");
    }
    verify();
  }

  virtual void verify() {}

  int probes_in_flight = 0;
  int admitted = 0;
};

enum class Steps : bool { kShared, kSharedAndCounts };

template <typename Scenario>
interleave::Explored explore(Steps steps) {
  const interleave::Explored explored = interleave::explore(
      [] { return std::make_unique<Scenario>(); }, steps == Steps::kSharedAndCounts);
  testing::Test::RecordProperty("schedules", static_cast<int>(explored.schedules));
  std::cout << explored.schedules << " schedules\n";
  return explored;
}

class Interleavings : public testing::Test {
 protected:
  void TearDown() override { proof::planted_bug = 0; }
};

/// B7: three callers meet the moment of half_open; the permits are kept.
struct ThreeCallersOneProbe : Scene {
  ThreeCallersOneProbe() {
    leaf.half_open();
    for (uint32_t worker = 0; worker < 3; ++worker) {
      actors.emplace_back([this, worker] {
        if (auto permit = admit(worker)) {
          kept.push_back(std::move(*permit));
        }
      });
    }
  }

  void verify() override {
    if (admitted != 1) {
      broken("not exactly one probe");
    }
  }

  std::vector<Permit> kept;
};

TEST_F(Interleavings, B7AdmitExactlyOneProbeOfThreeCallers) {
  const auto explored = explore<ThreeCallersOneProbe>(Steps::kSharedAndCounts);
  EXPECT_EQ(explored.first, "");
  EXPECT_GT(explored.schedules, 100U);
}

TEST_F(Interleavings, FindTheProbeThatAPlantedBugAdmitsTwice) {
  proof::planted_bug = 1;
  EXPECT_GT(explore<ThreeCallersOneProbe>(Steps::kSharedAndCounts).broken, 0U);
}

/// Two callers that finish and one that only asks.
struct ProbesFollowEachOther : Scene {
  ProbesFollowEachOther() {
    leaf.half_open();
    actors.emplace_back([this] { call(0, Outcome::kOk); });
    actors.emplace_back([this] { call(1, Outcome::kServerError); });
    actors.emplace_back([this] { call(2, Outcome::kCancelled); });
  }

  void verify() override {
    if (!leaf.admit().has_value()) {
      broken("the slot was lost");
    }
  }
};

TEST_F(Interleavings, LoseNoProbeSlotWhenProbesFollowEachOther) {
  EXPECT_EQ(explore<ProbesFollowEachOther>(Steps::kSharedAndCounts).first, "");
}

/// B10: a probe whose lease ran out says bad, its successor says good, while the tick decides.
struct OldAndNewProbe : Scene {
  OldAndNewProbe() {
    leaf.half_open();
    for (const Outcome outcome :
         {Outcome::kOk, Outcome::kOk, Outcome::kOk, Outcome::kOk, Outcome::kServerError}) {
      leaf.call(outcome);
    }
    old_probe = std::move(*leaf.admit());
    leaf.now += 600ms;
    new_probe = std::move(*leaf.admit());
    actors.emplace_back([this] { old_probe.finish(leaf.now, Outcome::kServerError); });
    actors.emplace_back([this] { new_probe.finish(leaf.now, Outcome::kOk); });
    actors.emplace_back([this] { tick(); });
  }

  void verify() override {
    tick();
    if (leaf.state() != State::kRamping) {
      broken("the lost probe decided");
    }
  }

  Permit old_probe;
  Permit new_probe;
};

TEST_F(Interleavings, B10LetOnlyTheProbeThatHoldsTheLeaseDecide) {
  EXPECT_EQ(explore<OldAndNewProbe>(Steps::kShared).first, "");
}

/// B11: the last two bad calls cross the threshold while the tick looks.
template <uint32_t kCalls>
struct TwoCrossTheThreshold : Scene {
  TwoCrossTheThreshold() {
    for (uint32_t i = kCalls; i < 4; ++i) {
      leaf.call(Outcome::kServerError);
      leaf.pass(100ms);
    }
    leaf.now += 100ms;
    for (uint32_t worker = 0; worker < kCalls; ++worker) {
      bad[worker] = std::move(*leaf.admit(300ms, worker));
      actors.emplace_back([this, worker] { bad[worker].finish(leaf.now, Outcome::kServerError); });
    }
    actors.emplace_back([this] { tick(); });
  }

  void verify() override {
    const size_t moves = leaf.log.size();
    leaf.now += 100ms;
    tick();
    if (leaf.state() != State::kOpen || leaf.log.size() != 1) {
      broken("not opened exactly once");
    }
    if (moves == 1 && leaf.guard.folded().bad + leaf.guard.folded().good != 0) {
      broken("a result of the old epoch in the new one's window");
    }
  }

  Permit bad[kCalls];
};

TEST_F(Interleavings, B11OpenOnceWhenTwoCallsCrossTheThreshold) {
  EXPECT_EQ(explore<TwoCrossTheThreshold<2>>(Steps::kShared).first, "");
}

TEST_F(Interleavings, B11CountACallInItsEpochOrNotAtAll) {
  EXPECT_EQ(explore<TwoCrossTheThreshold<1>>(Steps::kSharedAndCounts).first, "");
}

/// 3: bad results of a closed epoch arrive while an operator takes the leaf through two more.
struct LateResults : Scene {
  LateResults() {
    for (Permit& permit : old) {
      permit = std::move(*leaf.admit());
    }
    actors.emplace_back([this] {
      for (Permit& permit : old) {
        permit.finish(leaf.now, Outcome::kServerError);
      }
    });
    actors.emplace_back([this] {
      mode(Mode::kDisabled);
      mode(Mode::kEnforce);
    });
  }

  void verify() override {
    leaf.now += 100ms;
    tick();
    if (leaf.guard.folded().bad != 0) {
      broken("a late result was counted");
    }
  }

  Permit old[2];
};

TEST_F(Interleavings, FenceLateResultsFromEveryLaterEpoch) {
  EXPECT_EQ(explore<LateResults>(Steps::kSharedAndCounts).first, "");
}

TEST_F(Interleavings, FindTheLateResultThatAPlantedBugCounts) {
  proof::planted_bug = 3;
  EXPECT_GT(explore<LateResults>(Steps::kSharedAndCounts).broken, 0U);
}

/// A probe under way and another caller while an operator forces the leaf open.
struct ForcedOpenWhileProbing : Scene {
  ForcedOpenWhileProbing() {
    leaf.half_open();
    actors.emplace_back([this] { call(0, Outcome::kOk); });
    actors.emplace_back([this] { admit_and_cancel(); });
    actors.emplace_back([this] { mode(Mode::kForcedOpen); });
  }

  void admit_and_cancel() {
    if (auto permit = admit(1)) {
      finish(std::move(*permit), Outcome::kCancelled);
    }
  }

  void verify() override {
    leaf.pass(1s);
    if (leaf.guard.peek().mode != Mode::kForcedOpen || leaf.state() != State::kOpen ||
        leaf.admit().has_value()) {
      broken("a probe moved a leaf that was forced open");
    }
  }
};

TEST_F(Interleavings, AdmitNothingOnceAnOperatorHasForcedItOpen) {
  EXPECT_EQ(explore<ForcedOpenWhileProbing>(Steps::kSharedAndCounts).first, "");
}

/// A round times out and is armed anew while a probe is taken and settled; settings change too.
struct RearmedWhileProbing : Scene {
  RearmedWhileProbing() {
    leaf.half_open();
    leaf.call(Outcome::kOk);
    leaf.now += 5100ms;
    actors.emplace_back([this] { call(0, Outcome::kOk); });
    actors.emplace_back([this] { call(1, Outcome::kCancelled); });
    actors.emplace_back([this] {
      leaf.guard.set_settings({.max_in_flight = 2});
      tick();
    });
  }

  void verify() override {
    if (leaf.state() != State::kHalfOpen || !leaf.admit().has_value()) {
      broken("a round armed anew lost its slot or its state");
    }
  }
};

TEST_F(Interleavings, LoseNothingWhenARoundIsArmedAnew) {
  EXPECT_EQ(explore<RearmedWhileProbing>(Steps::kShared).first, "");
}

}  // namespace
}  // namespace spillway::resilience
