#include "exchange/notices.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/time.h"
#include "exchange/notice_orders.h"
#include "exchange/notice_table.h"
#include "exchange/notice_url.h"
#include "openrtb/signed_url.h"

namespace spillway::exchange {
namespace {

using namespace std::chrono_literals;
using openrtb::EventKind;

constexpr auto kBilling = static_cast<size_t>(NoticeKind::kBilling);
constexpr auto kWin = static_cast<size_t>(NoticeKind::kWin);
constexpr auto kLoss = static_cast<size_t>(NoticeKind::kLoss);

base::CallResult answer(uint16_t status) {
  return {.phase = base::CallPhase::kDone, .status = status};
}

base::CallResult failure(base::CallError error, base::CallPhase phase) {
  return {.phase = phase, .error = error};
}

/// Notices in virtual time.
class Desk {
 public:
  explicit Desk(NoticeLimits limits = {})
      : notices(limits, 1, [](const NoticePlace& place) { return place.host != "10.0.0.1"; }) {}

  void clear(NoticeKind kind, std::string_view url) {
    ClearedNotices cleared;
    cleared.due.push_back({.kind = kind, .url = std::string(url)});
    notices.on_cleared(now, std::move(cleared));
  }

  void wait_for_event(uint64_t auction, std::string_view burl, std::string_view nurl = "",
                      bool billed_on_win = false) {
    ClearedNotices cleared;
    cleared.waiting.push_back({.auction = auction,
                               .nurl = std::string(nurl),
                               .burl = std::string(burl),
                               .billed_on_win = billed_on_win,
                               .lifetime = 1h});
    notices.on_cleared(now, std::move(cleared));
  }

  EventEnd report(EventKind kind, uint64_t auction) {
    return notices.on_event(now, {.kind = kind, .auction = auction});
  }

  /// Time passes in steps; calls wanted meanwhile are collected.
  std::vector<NoticeCall> pass(base::Duration span) {
    std::vector<NoticeCall> calls = notices.take_calls();
    const base::Instant until = now + span;
    while (now < until) {
      now = std::min(until, std::max(notices.next_deadline(), now + 1ms));
      notices.on_deadline(now);
      for (NoticeCall& call : notices.take_calls()) {
        calls.push_back(std::move(call));
      }
    }
    return calls;
  }

  base::Instant now{100h};
  Notices notices;
};

TEST(Notices, SayTheDeviceAtEveryAttemptToBill) {
  Desk desk;
  ClearedNotices cleared;
  cleared.waiting.push_back({.auction = 1,
                             .burl = "http://d/b",
                             .device = std::make_shared<const std::string>("X-Device-IP: 1\r\n"),
                             .lifetime = 1h});
  desk.notices.on_cleared(desk.now, std::move(cleared));
  EXPECT_EQ(desk.report(EventKind::kImp, 1), EventEnd::kTaken);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto calls = desk.pass(2s);
    ASSERT_EQ(calls.size(), 1U);
    ASSERT_NE(calls[0].device, nullptr);
    EXPECT_EQ(*calls[0].device, "X-Device-IP: 1\r\n");
    desk.notices.on_result(desk.now, calls[0].id, answer(500));
  }
}

TEST(Notices, AreDroppedWithAReasonWhenTheProcessEnds) {
  Desk desk;
  for (int i = 0; i < 30; ++i) {
    desk.clear(NoticeKind::kBilling, "http://d/b");
  }
  desk.clear(NoticeKind::kWin, "http://d/w");
  const auto calls = desk.notices.take_calls();
  desk.notices.on_result(desk.now, calls[0].id, answer(204));
  desk.notices.on_result(desk.now, calls[1].id, answer(500));
  EXPECT_EQ(desk.notices.abandon(), 30U);
  EXPECT_EQ(desk.notices.pending(), 0U);
  const auto& counts = desk.notices.counts();
  const auto& dropped = counts.dropped[static_cast<size_t>(NoticeDrop::kStopping)];
  EXPECT_EQ(dropped[kBilling], 29U);
  EXPECT_EQ(dropped[kWin], 1U);
  EXPECT_EQ(counts.taken[kBilling], counts.sent[kBilling] + dropped[kBilling]);
  desk.notices.on_result(desk.now, calls[2].id, answer(204));  // too late to be counted
  EXPECT_EQ(counts.sent[kBilling], 1U);
  EXPECT_TRUE(desk.pass(20s).empty());
}

TEST(NoticeTable, CountsTheDevicesBytes) {
  NoticeTable with(1 << 20);
  NoticeTable without(1 << 20);
  with.add({}, {.auction = 1,
                .burl = "b",
                .device = std::make_shared<const std::string>(1'000, 'x'),
                .lifetime = 1h});
  without.add({}, {.auction = 1, .burl = "b", .lifetime = 1h});
  EXPECT_EQ(with.bytes(), without.bytes() + 1'000);
}

TEST(Notices, AreSentOnceWhenTheyAreAnswered) {
  Desk desk;
  desk.clear(NoticeKind::kWin, "http://dsp.example:81/w?p=1");
  const auto calls = desk.notices.take_calls();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].place->host, "dsp.example");
  EXPECT_EQ(calls[0].place->port, 81);
  EXPECT_EQ(calls[0].target, "/w?p=1");
  EXPECT_EQ(calls[0].deadline, desk.now + 2s);
  desk.notices.on_result(desk.now, calls[0].id, answer(204));
  desk.notices.on_result(desk.now, calls[0].id, answer(204));
  EXPECT_EQ(desk.notices.counts().sent[kWin], 1U);
  EXPECT_TRUE(desk.pass(2min).empty());
  EXPECT_EQ(desk.notices.pending(), 0U);
}

TEST(Notices, RepeatABillingNoticeWithGrowingWaitsForAMinute) {
  Desk desk;
  const base::Instant begin = desk.now;
  desk.clear(NoticeKind::kBilling, "http://dsp.example/b");
  std::vector<base::Instant> attempts;
  auto calls = desk.notices.take_calls();
  while (desk.now < begin + 2min) {
    for (const auto& call : calls) {
      attempts.push_back(desk.now);
      desk.notices.on_result(desk.now, call.id, answer(404));
    }
    calls = desk.pass(10ms);
  }
  ASSERT_GE(attempts.size(), 8U);
  EXPECT_LE(attempts.size(), 14U);
  EXPECT_LE(attempts[1] - attempts[0], 320ms);
  EXPECT_GT(attempts.back(), begin + 40s);
  EXPECT_LT(attempts.back(), begin + 60s);
  EXPECT_EQ(desk.notices.counts().retried[kBilling], attempts.size() - 1);
  EXPECT_EQ(desk.notices.counts().expired[kBilling], 1U);
}

TEST(Notices, RepeatAWinOnlyWhileItNeverLeftAndALossNever) {
  Desk desk;
  desk.clear(NoticeKind::kWin, "http://a.example/w1");
  desk.clear(NoticeKind::kWin, "http://b.example/w2");
  desk.clear(NoticeKind::kLoss, "http://c.example/l");
  const auto calls = desk.notices.take_calls();
  ASSERT_EQ(calls.size(), 3U);
  const auto refused = failure(base::CallError::kRefused, base::CallPhase::kConnect);
  desk.notices.on_result(desk.now, calls[0].id, refused);
  desk.notices.on_result(desk.now, calls[1].id, answer(500));
  desk.notices.on_result(desk.now, calls[2].id, refused);
  const auto again = desk.pass(1s);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].target, "/w1");
  EXPECT_EQ(desk.notices.counts().failed[kWin], 1U);
  EXPECT_EQ(desk.notices.counts().failed[kLoss], 1U);
}

TEST(Notices, SendTheBurlAtTheFirstImpEventOnly) {
  Desk desk;
  desk.wait_for_event(7, "http://dsp.example/b", "http://dsp.example/w");
  EXPECT_TRUE(desk.notices.take_calls().empty());
  EXPECT_EQ(desk.report(EventKind::kImp, 8), EventEnd::kUnknown);
  EXPECT_EQ(desk.report(EventKind::kImp, 7), EventEnd::kTaken);
  EXPECT_EQ(desk.report(EventKind::kImp, 7), EventEnd::kDuplicate);
  auto calls = desk.notices.take_calls();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].target, "/b");
  EXPECT_EQ(desk.report(EventKind::kWin, 7), EventEnd::kTaken);
  EXPECT_EQ(desk.report(EventKind::kWin, 7), EventEnd::kDuplicate);
  calls = desk.notices.take_calls();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].target, "/w");
  EXPECT_EQ(desk.notices.counts().events[static_cast<size_t>(EventEnd::kDuplicate)], 2U);
}

TEST(Notices, BillWithTheWinWhereTheAccountSaysSo) {
  Desk desk;
  desk.wait_for_event(7, "http://dsp.example/b", "http://dsp.example/w", true);
  EXPECT_EQ(desk.report(EventKind::kImp, 7), EventEnd::kTaken);
  EXPECT_TRUE(desk.notices.take_calls().empty());
  EXPECT_EQ(desk.report(EventKind::kWin, 7), EventEnd::kTaken);
  const auto calls = desk.notices.take_calls();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].target, "/b");
}

TEST(Notices, ForgetBidsWhoseEventUrlsHaveExpired) {
  Desk desk;
  desk.wait_for_event(7, "http://dsp.example/b");
  desk.now += 1h + 1s;
  EXPECT_EQ(desk.report(EventKind::kImp, 7), EventEnd::kUnknown);
  desk.notices.on_deadline(desk.now);
  EXPECT_EQ(desk.notices.table().size(), 0U);
  EXPECT_EQ(desk.notices.table().bytes(), 0U);
  EXPECT_EQ(desk.notices.table().expired(), 1U);
}

TEST(Notices, KeepTheTableInItsBytesByPuttingOutTheOldest) {
  Desk desk({.table_bytes = 100'000});
  const std::string burl = "http://dsp.example/" + std::string(1'000, 'b');
  for (uint64_t auction = 1; auction <= 1'000; ++auction) {
    desk.wait_for_event(auction, burl);
    EXPECT_LE(desk.notices.table().bytes(), 100'000U);
  }
  EXPECT_GT(desk.notices.table().size(), 50U);
  EXPECT_EQ(desk.notices.table().evicted() + desk.notices.table().size(), 1'000U);
  EXPECT_EQ(desk.report(EventKind::kImp, 1), EventEnd::kUnknown);
  EXPECT_EQ(desk.report(EventKind::kImp, 1'000), EventEnd::kTaken);
}

TEST(Notices, RefuseWhatTheyMayNotCallAndSayWhy) {
  Desk desk({.hosts = 1});
  desk.clear(NoticeKind::kWin, "javascript:alert(1)");
  desk.clear(NoticeKind::kWin, "http://10.0.0.1/w");
  desk.clear(NoticeKind::kWin, "http://a.example/w");
  desk.clear(NoticeKind::kWin, "http://b.example/w");
  const auto dropped = [&](NoticeDrop why) {
    return desk.notices.counts().dropped[static_cast<size_t>(why)][kWin];
  };
  EXPECT_EQ(dropped(NoticeDrop::kBadUrl), 1U);
  EXPECT_EQ(dropped(NoticeDrop::kPrivateAddress), 1U);
  EXPECT_EQ(dropped(NoticeDrop::kTooManyHosts), 1U);
  const auto calls = desk.notices.take_calls();
  ASSERT_EQ(calls.size(), 1U);
  desk.notices.on_result(desk.now, calls[0].id, answer(200));
  desk.clear(NoticeKind::kWin, "http://b.example/w");  // the first host is idle now
  EXPECT_EQ(desk.notices.take_calls().size(), 1U);
  EXPECT_EQ(desk.notices.take_gone_hosts(), std::vector<uint32_t>{calls[0].host});
}

TEST(Notices, LeaveRoomForBillingWhenTheQueueFills) {
  Desk desk({.queue = 8, .in_flight_per_host = 1});
  for (int i = 0; i < 10; ++i) {
    desk.clear(NoticeKind::kLoss, "http://dsp.example/l");
    desk.clear(NoticeKind::kBilling, "http://dsp.example/b");
  }
  EXPECT_EQ(desk.notices.pending(), 8U);
  EXPECT_EQ(desk.notices.counts().taken[kLoss], 2U);
  EXPECT_EQ(desk.notices.counts().taken[kBilling], 6U);
  // The first loss was under way; then billing goes first.
  auto calls = desk.notices.take_calls();
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(calls.size(), 1U);
    desk.notices.on_result(desk.now, calls[0].id, answer(200));
    calls = desk.notices.take_calls();
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].target, "/b");
  }
}

TEST(Notices, KeepToTheRateOfAHost) {
  Desk desk({.rate_per_host = 50, .in_flight_per_host = 1'000});
  for (int i = 0; i < 500; ++i) {
    desk.clear(NoticeKind::kBilling, "http://dsp.example/b");
  }
  const size_t at_once = desk.notices.take_calls().size();
  EXPECT_EQ(at_once, 5U);
  const size_t later = desk.pass(2s).size();
  EXPECT_GE(later, 95U);
  EXPECT_LE(later, 101U);
}

TEST(Notices, AskADeadHostSeldomAndOthersAsUsual) {
  Desk desk;
  for (int i = 0; i < 200; ++i) {
    desk.clear(NoticeKind::kBilling, "http://dead.example/b");
  }
  const base::Instant begin = desk.now;
  size_t attempts = 0;
  auto calls = desk.notices.take_calls();
  for (int step = 0; step < 3'000; ++step) {
    for (const auto& call : calls) {
      attempts += desk.now > begin + 1s ? 1 : 0;  // until then the guard has to find out
      desk.notices.on_result(desk.now, call.id,
                             failure(base::CallError::kRefused, base::CallPhase::kConnect));
    }
    calls = desk.pass(10ms);
  }
  EXPECT_LT(attempts, 40U);  // of 200 notices in 29 s
  EXPECT_EQ(desk.notices.hosts_open(), 1U);
  desk.clear(NoticeKind::kWin, "http://alive.example/w");
  EXPECT_EQ(desk.notices.take_calls().size(), 1U);
}

/// Random auctions, events, answers and outages. `seen` is what the DSP's own books hold.
TEST(Notices, NeverLoseABillingEventNorReportItTwiceWhateverHappens) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    base::Rng rng(seed);
    Desk desk({.queue = 400, .rate_per_host = 200, .in_flight_per_host = 4});
    std::map<std::string, int> answered;
    std::map<uint64_t, bool> reported;
    std::deque<NoticeCall> under_way;
    uint64_t auctions = 0;
    uint64_t losses_tried = 0;
    const auto settle = [&](const NoticeCall& call, bool outage) {
      const uint64_t dice = rng.next() % 10;
      if (outage || dice < 3) {
        desk.notices.on_result(
            desk.now, call.id,
            dice % 2 == 0 ? answer(500)
                          : failure(base::CallError::kTimeout, base::CallPhase::kFirstByte));
      } else {
        ++answered[call.target];
        desk.notices.on_result(desk.now, call.id, answer(204));
      }
    };
    for (int step = 0; step < 2'000; ++step) {
      const bool quiet = step > 400;  // then a minute and more for the rest
      const bool outage = step >= 100 && step < 150;
      if (!quiet) {
        ++auctions;
        const std::string host = "http://h" + std::to_string(rng.next() % 3) + ".example";
        desk.wait_for_event(auctions, host + "/b" + std::to_string(auctions));
        desk.clear(NoticeKind::kLoss, host + "/l" + std::to_string(auctions));
        const uint64_t shown = 1 + rng.next() % auctions;
        const bool first = desk.report(EventKind::kImp, shown) == EventEnd::kTaken;
        EXPECT_EQ(first, !reported[shown]);
        reported[shown] = true;
      }
      for (NoticeCall& call : desk.pass(50ms)) {
        losses_tried += call.target.starts_with("/l") ? 1 : 0;
        under_way.push_back(std::move(call));
      }
      while (!under_way.empty() && rng.next() % 4 != 0) {
        const NoticeCall call = std::move(under_way.front());
        under_way.pop_front();
        settle(call, outage);
      }
    }
    const NoticeCounts& counts = desk.notices.counts();
    uint64_t billed = 0;
    for (const auto& [target, times] : answered) {
      EXPECT_EQ(times, 1) << target;
      billed += target.starts_with("/b") ? 1 : 0;
    }
    for (size_t kind = 0; kind < kNoticeKinds; ++kind) {
      uint64_t dropped = 0;
      for (const auto& by_kind : counts.dropped) {
        dropped += by_kind[kind];
      }
      EXPECT_EQ(counts.taken[kind], counts.sent[kind] + counts.failed[kind] + counts.expired[kind]);
      EXPECT_EQ(kind == kLoss ? dropped : 0, dropped);
    }
    EXPECT_EQ(desk.notices.pending(), 0U);
    EXPECT_EQ(counts.failed[kBilling], 0U);
    EXPECT_EQ(counts.sent[kBilling], billed);
    uint64_t shown = 0;
    for (const auto& [auction, was] : reported) {
      shown += was ? 1 : 0;
    }
    EXPECT_EQ(counts.sent[kBilling] + counts.expired[kBilling], shown) << seed;
    EXPECT_EQ(counts.expired[kBilling], 0U) << seed;
    EXPECT_EQ(losses_tried, counts.sent[kLoss] + counts.failed[kLoss]);
  }
}

}  // namespace
}  // namespace spillway::exchange
