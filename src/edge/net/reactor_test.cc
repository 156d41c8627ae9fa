#include "net/reactor.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "net/os_clock.h"
#include "net/test_kit.h"
#include "net/timer_wheel.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;

struct TestTimer final : Timer {
  void on_timer(base::Instant now) override { action(now); }

  std::function<void(base::Instant)> action;
};

struct TestSink final : ReadySink {
  void on_ready(uint32_t events) override { action(events); }

  std::function<void(uint32_t)> action;
};

struct SocketPair {
  SocketPair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0); }

  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;

  ~SocketPair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }

  void write() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }

  std::array<int, 2> ends{};
};

class ReactorTest : public ::testing::Test {
 protected:
  OsClock clock_;
  Reactor reactor_{clock_};
};

TEST_F(ReactorTest, PostedWorkRunsInOrderOnTheReactorsThread) {
  std::vector<int> ran;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      reactor_.post([&ran, i] { ran.push_back(i); });
    }
    reactor_.stop();
  });
  reactor_.run();
  other.join();
  ASSERT_EQ(ran.size(), 1000U);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(ran[static_cast<size_t>(i)], i);
  }
}

TEST_F(ReactorTest, WorkPostedAfterTheEndIsDestroyedUnrun) {
  reactor_.stop();
  reactor_.run();
  const auto token = std::make_shared<int>(0);
  reactor_.post([token] { FAIL(); });
  EXPECT_EQ(token.use_count(), 1);
}

TEST_F(ReactorTest, TimersFireInTimeWhileNothingElseHappens) {
  TestTimer timer;
  const base::Instant due = reactor_.refresh() + 20ms;
  base::Instant fired_at{};
  timer.action = [&](base::Instant now) {
    fired_at = now;
    reactor_.stop();
  };
  reactor_.timers().arm(timer, due);
  reactor_.run();
  EXPECT_GE(fired_at, due);
  EXPECT_EQ(fired_at, reactor_.now());
}

TEST_F(ReactorTest, WhatWasNeverAddedMayBeRemoved) {
  const SocketPair pair;
  TestSink sink;
  reactor_.remove(pair.ends[0], sink);  // in a fresh reactor, which has no place for it yet
}

TEST_F(ReactorTest, ATimerArmedBehindACancelledOneFiresInItsOwnTime) {
  TestTimer cancelled;
  TestTimer timer;
  const base::Instant due = reactor_.refresh() + 10ms;
  base::Instant fired_at{};
  cancelled.action = [](base::Instant) {};  // it may, on a starved machine
  timer.action = [&](base::Instant now) {
    fired_at = now;
    reactor_.stop();
  };
  reactor_.timers().arm(cancelled, due - 7ms);
  reactor_.timers().arm(timer, due);
  SocketPair pair;
  TestSink sink;
  sink.action = [&](uint32_t) {  // the reactor has slept with the first deadline set
    cancelled.cancel();
    reactor_.remove(pair.ends[0], sink);
  };
  reactor_.add(pair.ends[0], EPOLLIN, sink);
  std::thread other([&] { pair.write(); });
  reactor_.run();
  other.join();
  EXPECT_GE(fired_at, due);
}

TEST_F(ReactorTest, ATimerArmedBeforeADistantOneFiresWhileTheReactorSleepsForThat) {
  TestTimer distant;
  TestTimer timer;
  distant.action = [](base::Instant) { FAIL(); };
  timer.action = [&](base::Instant) { reactor_.stop(); };
  reactor_.timers().arm(distant, reactor_.refresh() + 1h);
  std::thread other(
      [&] { reactor_.post([&] { reactor_.timers().arm(timer, reactor_.now() + 2ms); }); });
  reactor_.run();
  other.join();
  EXPECT_TRUE(distant.armed());
}

TEST_F(ReactorTest, DeferredWorkRunsInTheSamePollAfterHandlers) {
  std::vector<int> order;
  reactor_.post([&] {
    reactor_.defer([&] {
      order.push_back(2);
      reactor_.defer([&] { reactor_.stop(); });
    });
    order.push_back(1);
  });
  reactor_.run();
  EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST_F(ReactorTest, ASinkRemovedWhileItsEventIsPendingIsNotCalled) {
  SocketPair one;
  SocketPair two;
  TestSink first;
  TestSink second;
  int calls = 0;
  const auto remove_the_other = [&](uint32_t) {
    ++calls;
    reactor_.remove(one.ends[0], first);
    reactor_.remove(two.ends[0], second);
    reactor_.stop();
  };
  first.action = second.action = remove_the_other;
  reactor_.add(one.ends[0], EPOLLIN, first);
  reactor_.add(two.ends[0], EPOLLIN, second);
  one.write();
  two.write();
  reactor_.run();
  EXPECT_EQ(calls, 1);
}

TEST_F(ReactorTest, ADescriptorUsedAgainDoesNotInheritPendingEvents) {
  std::optional<SocketPair> one(std::in_place);
  SocketPair two;
  TestSink first;
  TestSink second;
  TestSink heir;
  std::optional<SocketPair> reused;
  int heir_calls = 0;
  heir.action = [&](uint32_t) { ++heir_calls; };
  const auto swap = [&](std::optional<SocketPair>& mine, TestSink& sink) {
    reactor_.remove(mine->ends[0], sink);
    mine.reset();
    reused.emplace();
    reactor_.add(reused->ends[0], EPOLLIN, heir);
  };
  second.action = [&](uint32_t) {
    reactor_.remove(two.ends[0], second);
    if (one) {
      EXPECT_TRUE(reactor_.pending(one->ends[0]));
      swap(one, first);
    }
    reactor_.stop();
  };
  first.action = [&](uint32_t) { FAIL() << "events come in order of readiness"; };
  reactor_.add(one->ends[0], EPOLLIN, first);
  reactor_.add(two.ends[0], EPOLLIN, second);
  two.write();
  one->write();
  reactor_.run();
  EXPECT_EQ(heir_calls, 0);
}

TEST_F(ReactorTest, EarliestArrivalIsThePollBeforeWhenTheThreadWasBusy) {
  SocketPair pair;
  TestSink sink;
  base::Duration waited{-1};
  sink.action = [&](uint32_t) {
    waited = reactor_.now() - reactor_.earliest_arrival();
    reactor_.stop();
  };
  reactor_.add(pair.ends[0], EPOLLIN, sink);
  base::Instant busy_from{};
  reactor_.post([&] {
    busy_from = reactor_.now();
    pair.write();
    while (clock_.now() < busy_from + 5ms) {
    }
  });
  reactor_.run();
  EXPECT_GE(waited, 5ms);
  waited = base::Duration(-1);
  TestTimer timer;
  char byte = 0;
  EXPECT_EQ(::read(pair.ends[0], &byte, 1), 1);
  timer.action = [&](base::Instant) { pair.write(); };
  reactor_.timers().arm(timer, reactor_.refresh() + 3ms);
  reactor_.run();
  EXPECT_LT(waited, 1ms);
  EXPECT_GE(waited, 0ms);
}

/// Stands still until it is moved, so that how late a timer is handled does not hang on the
/// machine.
struct HandClock final : base::Clock {
  [[nodiscard]] base::Instant now() const noexcept override { return time; }

  base::Instant time{std::chrono::seconds(1)};
};

/// What is handled first ('r' a readable descriptor, 'd' a deadline) when both are there and the
/// deadline is handled `late`.
std::string order_when(base::Duration late, base::Duration& waited,
                       Urgency urgency = Urgency::kAnswer) {
  HandClock clock;
  Reactor reactor(clock);
  SocketPair pair;
  TestSink sink;
  TestTimer deadline;
  std::string order;
  sink.action = [&](uint32_t) {
    char byte = 0;
    EXPECT_EQ(::read(pair.ends[0], &byte, 1), 1);
    order.push_back('r');
    waited = reactor.now() - reactor.earliest_arrival();
  };
  deadline.action = [&](base::Instant) { order.push_back('d'); };
  reactor.add(pair.ends[0], EPOLLIN, sink, urgency);
  reactor.post([&] {
    reactor.timers().arm(deadline, reactor.now() + 1ms);
    pair.write();
    clock.time += 1ms + late;
    reactor.post([&] { reactor.post([&] { reactor.stop(); }); });
  });
  reactor.run();
  return order;
}

TEST(ReactorLateness, AHeldUpThreadServesTheAnswersThatCameInBeforeItsDeadlinesJudge) {
  base::Duration waited{};
  EXPECT_EQ(order_when(5ms, waited), "rd");
  EXPECT_GE(waited, 5ms);
}

TEST(ReactorLateness, AHeldUpThreadMeetsItsDeadlinesBeforeItTakesNewWork) {
  base::Duration waited{};
  EXPECT_EQ(order_when(5ms, waited, Urgency::kPlain), "dr");
  EXPECT_GE(waited, 5ms);
}

TEST(ReactorLateness, ADeadlineOnTimeGoesBeforeABatch) {
  base::Duration waited{};
  EXPECT_EQ(order_when(2ms, waited), "dr");
}

TEST(ReactorLateness, ADeadlineWaitsForAFewOfManyReadyDescriptors) {
  constexpr size_t kMany = 300;
  HandClock clock;
  Reactor reactor(clock);
  std::vector<SocketPair> pairs(kMany);
  TestSink sink;
  TestTimer deadline;
  size_t served = 0;
  size_t served_before = 0;
  std::vector<base::Duration> waited;
  sink.action = [&](uint32_t) {
    if (served++ == 0) {
      reactor.timers().arm(deadline, reactor.now());
    }
    clock.time += 100us;
    waited.push_back(clock.time - reactor.earliest_arrival());
    if (served == kMany) {
      reactor.stop();
    }
  };
  deadline.action = [&](base::Instant) { served_before = served; };
  for (const auto& pair : pairs) {
    reactor.add(pair.ends[0], EPOLLIN | EPOLLET, sink);
    pair.write();
  }
  reactor.run();
  EXPECT_GE(served_before, 1U);
  EXPECT_LE(served_before, 16U);
  // What is served last has waited for all before it.
  ASSERT_EQ(waited.size(), kMany);
  EXPECT_GE(waited.back(), kMany * 100us);
}

TEST(ReactorLateness, AHandlerThatHoldsTheThreadUpDoesNotMakeAnswersLateThatCameMeanwhile) {
  constexpr size_t kMany = 40;
  HandClock clock;
  Reactor reactor(clock);
  const std::vector<SocketPair> pairs(kMany);
  const SocketPair answering;
  TestSink asking;
  TestSink answer;
  TestTimer deadline;
  std::string order;
  base::Duration waited{};
  const auto happened = [&](char what) {
    order += what;
    if (order.size() == kMany + 3) {
      reactor.stop();
    }
  };
  asking.action = [&](uint32_t) {
    if (order.empty()) {
      reactor.timers().arm(deadline, clock.time + 10ms);
      answering.write();
      clock.time += 50ms;
    }
    happened('n');
  };
  answer.action = [&](uint32_t) {
    waited = clock.time - reactor.earliest_arrival();
    happened('a');
  };
  deadline.action = [&](base::Instant) { happened('d'); };
  reactor.add(answering.ends[0], EPOLLIN | EPOLLET, answer, Urgency::kAnswer);
  for (const auto& pair : pairs) {
    reactor.add(pair.ends[0], EPOLLIN | EPOLLET, asking);
    pair.write();
  }
  const SocketPair early;  // in the batch, behind the rest
  reactor.add(early.ends[0], EPOLLIN | EPOLLET, answer, Urgency::kAnswer);
  early.write();
  reactor.run();
  EXPECT_EQ(order, std::string(16, 'n') + "aad" + std::string(kMany - 16, 'n'));
  EXPECT_EQ(waited, 50ms) << "it came after the poll";
}

TEST(ReactorLateness, TimeThatHandlersReadDoesNotHideHowLongThePollBeforeTook) {
  HandClock clock;
  Reactor reactor(clock);
  SocketPair first;
  SocketPair second;
  TestSink busy;
  TestSink next;
  base::Duration waited{};
  busy.action = [&](uint32_t) {
    reactor.remove(first.ends[0], busy);
    second.write();
    clock.time += 7ms;
    reactor.refresh();
  };
  next.action = [&](uint32_t) {
    waited = reactor.now() - reactor.earliest_arrival();
    reactor.stop();
  };
  reactor.add(first.ends[0], EPOLLIN, busy);
  reactor.add(second.ends[0], EPOLLIN, next);
  first.write();
  reactor.run();
  EXPECT_GE(waited, 7ms);
}

}  // namespace
}  // namespace spillway::net
