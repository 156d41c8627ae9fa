// A real Redis, broken in every way it breaks.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "adapters/redis_fixture.h"
#include "bidder/answer_times.h"
#include "bidder/bidder_process.h"
#include "bidder/caps/keys.h"
#include "bidder/caps/user.h"
#include "bidder/model.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;
using adapters::testing::DelayingProxy;
using adapters::testing::RedisProcess;

/// Campaign 1 is strict and dear, 2 is open, 3 wants segment 7 and is dearest.
bidder::CatalogRows rows() {
  const std::vector<bidder::Cap> cap{{.window = bidder::CapWindow::kDay, .most = 2}};
  bidder::CatalogRows rows;
  add_campaign(rows, 1, 3, cap);
  add_campaign(rows, 2, 2, cap);
  add_campaign(rows, 3, 4);
  rows.campaigns[1].cap_failure = bidder::CapFailure::kOpen;
  rows.line_items[2].targeting.of(bidder::Dimension::kSegment).include = {"7"};
  return rows;
}

std::string redis_section(const std::string& address) {
  return fmt::format("redis: {{ primary: \"{}\", stall_after: 500ms }}\n", address);
}

/// In which the circuit of a Redis that fails opens, at the latest.
constexpr auto kMostToOpen = 5s;

/// When the circuit has opened since `began`; asks all the while.
[[nodiscard]] std::chrono::milliseconds opens(const BidderProcess& bidder, AnswerTimes& times,
                                              Clock::time_point began) {
  EXPECT_TRUE(BidderProcess::within(kMostToOpen, [&] {
    times.ask();
    return bidder.total("spillway_bidder_circuit_state", {R"(state="open")"}) == 1;
  }));
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
}

/// For a failure: every series of Redis that is not 0.
std::string redis_state(const BidderProcess& bidder) {
  std::string out;
  for (const auto& [series, value] : bidder.metrics()) {
    const bool is_ours = series.starts_with("spillway_bidder_redis") ||
                         series.starts_with("spillway_bidder_circuit");
    if (is_ours && value != 0 && series.find("_bucket") == std::string::npos) {
      out += fmt::format("{} {}\n", series, value);
    }
  }
  return out;
}

class BidderRedis : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(redis_.running()) << "redis-server does not run: tools/setup check";
  }

  /// Its segments and counts can be read again.
  static bool serves_in_full(const BidderProcess& bidder, std::string_view user) {
    return BidderProcess::within(60s,
                                 [&] { return winner_of(bidder.bid(request_of(user))) == "3"; });
  }

  void know(std::string_view user, std::string_view segments) {
    const auto hash = bidder::caps::hash_user("x", user);
    EXPECT_EQ(redis_.run({"SET", bidder::caps::segments_key(*hash), segments}), "OK");
  }

  RedisProcess redis_;
};

TEST_F(BidderRedis, GivesSegmentsAndKeepsCountsAcrossInstances) {
  know("known", "7");
  const BidderProcess one(rows(), redis_section(redis_.address()));
  const BidderProcess two(rows(), redis_section(redis_.address()));
  ASSERT_TRUE(one.ready());
  ASSERT_TRUE(two.ready());
  ASSERT_TRUE(serves_in_full(one, "known"));
  EXPECT_EQ(winner_of(one.bid(request_of("nobody"))), "1");
  for (int i = 0; i < 2; ++i) {
    const auto answer = one.bid(request_of("shared"));
    ASSERT_EQ(winner_of(answer), "1");
    EXPECT_EQ(one.caller().call("GET", notice_of(answer.body, "nurl", "2")).status(), 204);
  }
  ASSERT_TRUE(one.reaches(R"(spillway_bidder_redis_wins_total{event="written"})", 2));
  EXPECT_EQ(winner_of(two.bid(request_of("shared"))), "2") << "what one has shown the other knows";
}

TEST_F(BidderRedis, KilledItCostsTheStrictTheirBidsAndTheOpenTheirCaps) {
  know("known", "7");
  const BidderProcess bidder(rows(), redis_section(redis_.address()));
  ASSERT_TRUE(bidder.ready());
  ASSERT_TRUE(serves_in_full(bidder, "known"));
  AnswerTimes times(bidder);
  redis_.kill();
  times.ask_for(200);
  times.expect_in_time("killed");
  EXPECT_TRUE(BidderProcess::within(
      10s, [&] { return winner_of(bidder.bid(request_of("other"))) == "2"; }));
  EXPECT_NE(winner_of(bidder.bid(request_of("never seen"))), "3") << "it narrows, never widens";
  auto metrics = bidder.metrics();
  EXPECT_GE(metrics[R"(spillway_bidder_caps_skipped_total{reason="unread"})"], 1);
  EXPECT_GE(metrics[R"(spillway_bidder_segments_total{state="could_not_ask"})"], 1);
  EXPECT_GE(metrics["spillway_bidder_caps_unread_total"], 1);
  EXPECT_GE(bidder.total("spillway_bidder_dropped_total", {R"(reason="caps_unread")"}), 1)
      << "the strict are silent";
  EXPECT_TRUE(redis_.start());
  know("known too", "7");
  times.ask_for(100);
  EXPECT_TRUE(serves_in_full(bidder, "known too"));
  times.ask_for(100);
  times.expect_in_time("killed and restarted");
}

TEST_F(BidderRedis, FrozenItOpensTheCircuitAndAnswersStayFast) {
  know("known", "7");
  const BidderProcess bidder(rows(), redis_section(redis_.address()));
  ASSERT_TRUE(bidder.ready());
  ASSERT_TRUE(serves_in_full(bidder, "known"));
  AnswerTimes times(bidder);
  const auto began = Clock::now();
  redis_.freeze();
  const auto opened = opens(bidder, times, began);
  std::printf("frozen: open after %lld ms\n", static_cast<long long>(opened.count()));
  times.ask_for(200);
  times.expect_in_time("frozen");
  EXPECT_GT(bidder.total("spillway_bidder_caps_skipped_total", {R"(reason="unread")"}), 0);
  EXPECT_GE(bidder.total("spillway_bidder_redis_failures_total", {R"(reason="circuit_open")"}), 1)
      << "nobody waits any more";
  redis_.thaw();
  know("known too", "7");
  times.ask_for(100);
  EXPECT_TRUE(serves_in_full(bidder, "known too"));
  times.ask_for(100);
  times.expect_in_time("frozen and thawed");
}

TEST_F(BidderRedis, ThirtyMillisecondsSlowItIsDoneWithout) {
  know("known", "7");
  std::atomic<bool> is_slow{false};
  DelayingProxy proxy(redis_.port(), [&]() -> base::Duration { return is_slow ? 30ms : 0ms; });
  const BidderProcess bidder(
      rows(), redis_section(proxy.address()) + "pipeline: { ask_timeout: 20ms, deadline: 45ms }\n");
  ASSERT_TRUE(bidder.ready());
  ASSERT_TRUE(serves_in_full(bidder, "known"));
  AnswerTimes before(bidder);
  before.ask_for(200);
  is_slow = true;
  AnswerTimes times(bidder, 5ms);
  times.ask_for(200);
  EXPECT_GT(bidder.total("spillway_bidder_caps_skipped_total", {R"(reason="unread")"}), 0);
  times.expect_in_time("30 ms slow");
  is_slow = false;
  know("known too", "7");
  EXPECT_TRUE(serves_in_full(bidder, "known too")) << redis_state(bidder);
}

TEST_F(BidderRedis, ThirtyMillisecondsSlowFromTheFirstCallItIsDoneWithoutToo) {
  know("known", "7");
  std::atomic<bool> is_slow{true};
  DelayingProxy proxy(redis_.port(), [&]() -> base::Duration { return is_slow ? 30ms : 0ms; });
  const BidderProcess bidder(rows(), redis_section(proxy.address()));
  ASSERT_TRUE(bidder.ready());
  AnswerTimes times(bidder);
  const auto opened = opens(bidder, times, Clock::now());
  std::printf("slow from the first call: open after %lld ms\n",
              static_cast<long long>(opened.count()));
  times.ask_for(200);
  EXPECT_GT(bidder.total("spillway_bidder_caps_skipped_total", {R"(reason="unread")"}), 0);
  times.expect_in_time("slow from the first call");
  is_slow = false;
  EXPECT_TRUE(serves_in_full(bidder, "known")) << redis_state(bidder);
}

TEST_F(BidderRedis, ABlackHoleOpensTheCircuitAndEverythingIsBackBehindIt) {
  know("known", "7");
  std::atomic<bool> is_black{false};
  // Connections are taken and bytes swallowed, and nothing is ever said.
  DelayingProxy proxy(redis_.port(), [&]() -> base::Duration { return is_black ? 24h : 0ms; });
  const BidderProcess bidder(rows(), redis_section(proxy.address()));
  ASSERT_TRUE(bidder.ready());
  ASSERT_TRUE(serves_in_full(bidder, "known"));
  AnswerTimes times(bidder);
  is_black = true;
  (void)opens(bidder, times, Clock::now());
  times.ask_for(200);
  times.expect_in_time("a black hole");
  int number = 0;
  EXPECT_TRUE(
      bidder.moves("spillway_bidder_redis_failures_total", {R"(reason="circuit_open")"}, [&] {
        EXPECT_EQ(winner_of(bidder.bid(request_of(fmt::format("dark {}", ++number)))), "2")
            << "the open one bids on";
      }));
  EXPECT_GE(bidder.total("spillway_bidder_caps_unread_total"), 1);
  is_black = false;
  know("known too", "7");
  EXPECT_TRUE(serves_in_full(bidder, "known too")) << redis_state(bidder);
}

TEST_F(BidderRedis, WinsWaitForItAndBeyondTheirQueueNoticesAreToBeSentAgain) {
  const BidderProcess bidder(rows(), fmt::format("redis: {{ primary: \"{}\", stall_after: 500ms, "
                                                 "win_queue: 2 }}\n",
                                                 redis_.address()));
  ASSERT_TRUE(bidder.ready());
  std::vector<std::string> wins;
  for (int i = 0; i < 12; ++i) {
    const auto answer = bidder.bid(request_of(fmt::format("w{}", i)));
    wins.push_back(notice_of(answer.body, "nurl", "1.5"));
    ASSERT_NE(wins.back(), "") << answer.body;
  }
  redis_.kill();
  const auto tell = [&](const std::string& target) {
    return bidder.caller().call("GET", target).status();
  };
  std::vector<std::string> refused;
  for (const auto& win : wins) {
    const int status = tell(win);
    EXPECT_TRUE(status == 204 || status == 503) << status;
    if (status == 503) {
      refused.push_back(win);
    }
  }
  EXPECT_GE(refused.size(), 8U) << "two workers keep two each";
  EXPECT_LT(refused.size(), wins.size());
  EXPECT_EQ(bidder.total("spillway_bidder_redis_wins_waiting"),
            static_cast<double>(wins.size() - refused.size()));
  EXPECT_EQ(bidder.total("spillway_bidder_notices_total", {R"(end="busy")"}),
            static_cast<double>(refused.size()));
  EXPECT_TRUE(bidder.moves("spillway_bidder_redis_wins_total", {R"(event="retried")"}, [] {}));
  EXPECT_NE(winner_of(bidder.bid(request_of("nobody"))), "") << "bids go on";
  ASSERT_TRUE(redis_.start());
  // Sent again until they are taken, as an exchange does.
  EXPECT_TRUE(BidderProcess::within(60s, [&] {
    std::erase_if(refused, [&](const std::string& win) { return tell(win) == 204; });
    return refused.empty();
  }));
  EXPECT_TRUE(BidderProcess::within(60s, [&] {
    return bidder.total("spillway_bidder_redis_wins_total", {R"(event="written")"}) ==
           static_cast<double>(wins.size());
  })) << redis_state(bidder);
  EXPECT_EQ(bidder.total("spillway_bidder_redis_wins_waiting"), 0);
}

TEST_F(BidderRedis, FrozenWithALongPatienceItCostsTheDeadlineAndNothingIsHeld) {
  const BidderProcess bidder(rows(), redis_section(redis_.address()) +
                                         "pipeline: { deadline: 15ms, ask_timeout: 500ms }\n");
  ASSERT_TRUE(bidder.ready());
  ASSERT_NE(winner_of(bidder.bid(request_of("first"))), "");
  redis_.freeze();
  int number = 0;
  EXPECT_TRUE(bidder.moves("spillway_bidder_no_bids_total", {R"(reason="deadline")"}, [&] {
    (void)bidder.bid(request_of(fmt::format("late {}", ++number)));
  }));
  EXPECT_GE(bidder.total("spillway_bidder_stage_late_total"), 1);
  EXPECT_EQ(bidder.total("spillway_bidder_deadline_misses_total"), 0);
  redis_.thaw();
}

TEST_F(BidderRedis, FrozenWithMoreRequestsThanThereIsRoomForTheyAreShedAtOnce) {
  const BidderProcess bidder(rows(), redis_section(redis_.address()) +
                                         "pipeline: { deadline: 1s, ask_timeout: 400ms }\n"
                                         "shedding: { level_1: { in_flight: 1 } }\n");
  ASSERT_TRUE(bidder.ready());
  ASSERT_NE(winner_of(bidder.bid(request_of("first"))), "");
  redis_.freeze();
  EXPECT_TRUE(bidder.moves("spillway_bidder_shed_total", {R"(level="1")"}, [&] {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 12; ++i) {
      callers.emplace_back([&bidder, i] {
        const int status = bidder.bid(request_of(fmt::format("crowd {}", i))).status();
        EXPECT_TRUE(status == 200 || status == 204) << status;
      });
    }
  }));
  EXPECT_GE(bidder.total("spillway_bidder_no_bids_total", {R"(reason="shed")"}), 1);
  redis_.thaw();
}

}  // namespace
}  // namespace spillway::e2e
