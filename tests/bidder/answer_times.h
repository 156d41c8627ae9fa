#pragma once

#include <chrono>
#include <cstdio>
#include <string_view>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "bidder/bidder_process.h"
#include "e2e/scrapes.h"

namespace spillway::e2e {

/// How long a bidder's answers took, by its own histogram: from a request's first byte to its
/// answer, whatever the caller's own share of a busy machine. An answer that came late while one of
/// the bidder's threads was ready and kept from a processor, for longer than all the time that the
/// bidder had to spare, is the neighbours' doing and left out.
class AnswerTimes {
 public:
  /// What a caller may wait at the 99th percentile, whatever a dependency does.
  static constexpr double kMostAtP99S = 0.05;

  /// `spare`: between what it waits for its stores at most, and its deadline.
  explicit AnswerTimes(const BidderProcess& bidder,
                       std::chrono::milliseconds spare = std::chrono::milliseconds(20))
      : bidder_(bidder), waits_(bidder.pid()), spare_(spare) {}

  /// Asks for a user that this has not asked for before.
  void ask() {
    const Metrics before = bidder_.metrics();
    (void)waits_.longest();
    (void)bidder_.bid(request_of(fmt::format("timed {}", ++number_)));
    const Metrics after = bidder_.metrics();
    const double late = too_slow(after) - too_slow(before);
    const double expired = out_of_time(after) - out_of_time(before);
    if (late + expired > 0 && waits_.longest() > spare_) {
      ++left_out_;
      return;
    }
    expired_ += expired;
    for (const auto& [series, value] : after) {
      if (series.starts_with(kName)) {
        const auto old = before.find(series);
        counted_[series] += value - (old == before.end() ? 0 : old->second);
      }
    }
  }

  /// Until so many more answers are counted; fails when most of them have to be left out.
  void ask_for(int count) {
    const double wanted = counted() + count;
    for (int tries = 0; counted() < wanted; ++tries) {
      ASSERT_LT(tries, 2 * count) << "the machine is too busy to tell";
      ask();
    }
  }

  /// No answer but one in a hundred took longer than it may, and none came to its deadline.
  void expect_in_time(std::string_view what) const {
    const double p99_s = quantile_between({}, counted_, kName, "", 0.99);
    std::printf("%s: %.0f answers, p99 %.1f ms; %d left out\n", std::string(what).c_str(),
                counted(), p99_s * 1e3, left_out_);
    EXPECT_GT(counted(), 0);
    EXPECT_LT(p99_s, kMostAtP99S) << what;
    EXPECT_EQ(expired_, 0) << what;
  }

  [[nodiscard]] double counted() const {
    return sum_of(counted_, "spillway_bidder_answer_time_seconds_count");
  }

 private:
  static constexpr std::string_view kName = "spillway_bidder_answer_time_seconds";

  static double too_slow(const Metrics& metrics) {
    return sum_of(metrics, std::string(kName) + "_count") -
           sum_of(metrics, std::string(kName) + "_bucket", {R"(le="0.05")"});
  }

  static double out_of_time(const Metrics& metrics) {
    return sum_of(metrics, "spillway_bidder_no_bids_total", {R"(reason="deadline")"}) +
           sum_of(metrics, "spillway_bidder_deadline_misses_total");
  }

  const BidderProcess& bidder_;
  ProcessorWaits waits_;
  std::chrono::milliseconds spare_;
  Metrics counted_;  ///< Of the histogram.
  double expired_ = 0;
  int left_out_ = 0;
  int number_ = 0;
};

}  // namespace spillway::e2e
