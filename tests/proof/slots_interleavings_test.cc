#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>

#include <gtest/gtest.h>

#include "proof/explorer.h"
#include "resilience/proof.h"
#include "resilience/slots.h"

// Every interleaving of takes, returns and a lowered limit over the slots' own code: invariant 11,
// trap L7.

namespace spillway::resilience {
namespace {

/// Counts what callers hold; a slot counts from the end of its take to the start of its return.
class SlotScene : public interleave::World {
 public:
  SlotScene(uint32_t workers, int64_t limit) : slots(workers), most(limit) {
    slots.set_limit(static_cast<uint32_t>(limit));
  }

  Slots slots;
  int64_t held = 0;
  int64_t most;
  int64_t lowered_to = INT64_MAX;  ///< Once set_limit has returned.

  bool take(uint32_t worker) {
    // Others may return while this one takes, none can take: `held` may fall, but not rise.
    const bool full_throughout = held >= lowered_to;
    const bool taken = slots.take(worker);
    if (taken && ++held > most) {
      broken("more than the limit held");
    }
    if (taken && full_throughout && held > lowered_to) {
      broken("admitted above a lowered limit");
    }
    return taken;
  }

  void give_back(uint32_t worker) {
    --held;
    slots.give_back(worker);
  }

  void check() override {
    int64_t free = 0;
    while (slots.take(0)) {
      ++free;
    }
    if (held + free != std::min(most, lowered_to)) {
      broken("slots lost or made");
    }
  }
};

class SlotInterleavings : public testing::Test {
 protected:
  SlotInterleavings() { proof::slot_steps = proof::SlotSteps::kAll; }

  SlotInterleavings(const SlotInterleavings&) = delete;
  SlotInterleavings& operator=(const SlotInterleavings&) = delete;

  ~SlotInterleavings() override {
    proof::slot_steps = proof::SlotSteps::kNone;
    proof::planted_bug = 0;
  }

  template <typename Scenario>
  static interleave::Explored explore() {
    const auto explored = interleave::explore([] { return std::make_unique<Scenario>(); }, false);
    std::cout << explored.schedules << " schedules\n";
    return explored;
  }
};

/// One slot and two callers, one of whom held it.
struct TheLastSlot : SlotScene {
  TheLastSlot() : SlotScene(2, 1) {
    take(0);
    actors.emplace_back([this] {
      give_back(0);
      take(0);
    });
    actors.emplace_back([this] { take(1); });
  }
};

TEST_F(SlotInterleavings, GiveTheLastSlotToOneOfTwo) {
  EXPECT_EQ(explore<TheLastSlot>().first, "");
}

/// Two of 16 slots are free, in the hand of worker 0, who takes while worker 1 collects them.
struct AHandEmptiedWhileItsWorkerTakes : SlotScene {
  AHandEmptiedWhileItsWorkerTakes() : SlotScene(2, 16) {
    while (held < 16) {
      take(0);
    }
    give_back(0);
    give_back(0);
    take(0);
    actors.emplace_back([this] {
      give_back(0);
      take(0);
    });
    actors.emplace_back([this] { take(1); });
  }
};

TEST_F(SlotInterleavings, NeverTakeOneSlotTwiceFromAHandThatIsEmptied) {
  EXPECT_EQ(explore<AHandEmptiedWhileItsWorkerTakes>().first, "");
}

/// A batch is on its way into the hand when the limit falls below what is held.
struct LoweredUnderABatch : SlotScene {
  LoweredUnderABatch() : SlotScene(1, 16) {
    while (held < 8) {
      take(0);
    }
    actors.emplace_back([this] { take(0); });
    actors.emplace_back([this] {
      slots.set_limit(8);
      lowered_to = 8;
    });
  }

  void check() override {
    take(0);
    for (; held > 0; --held) {
      slots.give_back(0);
    }
    SlotScene::check();
  }
};

TEST_F(SlotInterleavings, TakeNothingAboveALimitOnceItIsLowered) {
  proof::slot_steps = proof::SlotSteps::kWrites;  // With loads it is millions of schedules.
  EXPECT_EQ(explore<LoweredUnderABatch>().first, "");
}

TEST_F(SlotInterleavings, FindTheCreditThatAPlantedBugDealsTwice) {
  proof::planted_bug = 11;
  EXPECT_GT(explore<AHandEmptiedWhileItsWorkerTakes>().broken, 0U);
}

}  // namespace
}  // namespace spillway::resilience
