#include "net/timer_wheel.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;

struct TestTimer final : Timer {
  void on_timer(base::Instant now) override { action(now); }

  std::function<void(base::Instant)> action;
};

base::Instant at(base::Duration time) { return base::Instant(time); }

class TimerWheelTest : public ::testing::Test {
 protected:
  TestTimer& add(base::Duration due, int mark) {
    timers_.push_back(std::make_unique<TestTimer>());
    timers_.back()->action = [this, mark](base::Instant) { fired_.push_back(mark); };
    wheel_.arm(*timers_.back(), at(due));
    return *timers_.back();
  }

  TimerWheel wheel_{at(1s)};
  std::vector<std::unique_ptr<TestTimer>> timers_;
  std::vector<int> fired_;
};

TEST_F(TimerWheelTest, FiresInOrderOfTickThenOfArming) {
  add(1s + 5ms, 1);
  add(1s + 2ms, 2);
  add(1s + 4'900us, 3);
  add(1s + 2ms, 4);
  wheel_.advance(at(1s + 10ms));
  EXPECT_EQ(fired_, (std::vector{2, 4, 1, 3}));
}

TEST_F(TimerWheelTest, NeverFiresEarlyAndAtMostOneTickLate) {
  add(1s + 2'100us, 1);
  wheel_.advance(at(1s + 2'999us));
  EXPECT_TRUE(fired_.empty());
  wheel_.advance(at(1s + 3ms));
  EXPECT_EQ(fired_.size(), 1U);
  add(10ms, 2);  // long past
  wheel_.advance(at(1s + 4ms));
  EXPECT_EQ(fired_.size(), 2U);
}

TEST_F(TimerWheelTest, CancelAndRearmAreHonoured) {
  TestTimer& cancelled = add(1s + 5ms, 1);
  TestTimer& moved = add(1s + 6ms, 2);
  cancelled.cancel();
  cancelled.cancel();
  wheel_.arm(moved, at(1s + 60s));
  EXPECT_FALSE(cancelled.armed());
  wheel_.advance(at(1s + 59s));
  EXPECT_TRUE(fired_.empty());
  wheel_.advance(at(1s + 60s));
  EXPECT_EQ(fired_, std::vector{2});
  wheel_.arm(moved, base::kNever);
  EXPECT_FALSE(moved.armed());
  EXPECT_EQ(wheel_.next_due(), base::kNever);
}

TEST_F(TimerWheelTest, HandlersMayCancelDestroyAndRearm) {
  TestTimer& first = add(1s + 5ms, 1);
  TestTimer& second = add(1s + 5ms, 2);
  auto third = std::make_unique<TestTimer>();
  third->action = [&](base::Instant) { fired_.push_back(3); };
  wheel_.arm(*third, at(1s + 5ms));
  int rounds = 0;
  first.action = [&](base::Instant now) {
    second.cancel();
    third.reset();
    if (++rounds < 5) {
      wheel_.arm(first, now);
    }
  };
  wheel_.advance(at(1s + 6ms));
  EXPECT_EQ(rounds, 2);  // due again at once: on the next tick, never twice in one
  wheel_.advance(at(2s));
  EXPECT_EQ(rounds, 4);
  EXPECT_TRUE(fired_.empty());
}

TEST_F(TimerWheelTest, DestroyingTheWheelLeavesTimersUnarmed) {
  TestTimer timer;
  {
    TimerWheel wheel(at(0s));
    wheel.arm(timer, at(1s));
    EXPECT_TRUE(timer.armed());
  }
  EXPECT_FALSE(timer.armed());
}

TEST_F(TimerWheelTest, AgreesWithAMultimapUnderRandomUse) {
  base::Rng rng(42);
  constexpr size_t kTimers = 200;
  TimerWheel wheel(at(0s));
  std::vector<TestTimer> timers(kTimers);
  std::multimap<int64_t, size_t> model;  // by due tick, in order of arming
  std::vector<size_t> fired;
  for (size_t i = 0; i < kTimers; ++i) {
    timers[i].action = [&fired, i](base::Instant) { fired.push_back(i); };
  }
  const auto forget = [&](size_t index) {
    std::erase_if(model, [&](const auto& entry) { return entry.second == index; });
  };
  base::Duration now{};
  for (int step = 0; step < 20'000; ++step) {
    const size_t index = rng.below(kTimers);
    switch (rng.below(4)) {
      case 0:
      case 1: {
        const auto spread = static_cast<int64_t>(rng.below(3) == 0 ? 20'000'000'000U : 50'000'000U);
        const base::Duration due =
            now + base::Duration(1 + rng.below(static_cast<uint64_t>(spread)));
        forget(index);
        wheel.arm(timers[index], at(due));
        model.emplace((due.count() + 999'999) / 1'000'000, index);
        break;
      }
      case 2:
        forget(index);
        timers[index].cancel();
        break;
      default: {
        now += base::Duration(rng.below(rng.below(50) == 0 ? 9'000'000'000U : 5'000'000U));
        std::vector<size_t> expected;
        while (!model.empty() && model.begin()->first <= now.count() / 1'000'000) {
          expected.push_back(model.begin()->second);
          model.erase(model.begin());
        }
        fired.clear();
        wheel.advance(at(now));
        ASSERT_EQ(fired, expected) << "step " << step;
        if (model.empty()) {
          ASSERT_EQ(wheel.next_due(), base::kNever);
        } else {
          ASSERT_LE(wheel.next_due().time_since_epoch().count(), model.begin()->first * 1'000'000);
          ASSERT_GT(wheel.next_due(), at(now));
        }
      }
    }
  }
}

}  // namespace
}  // namespace spillway::net
