#include "exchange/bid_watch.h"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resilience/wilson.h"

namespace spillway::exchange {

namespace {

constexpr base::Duration kWindowMin = std::chrono::seconds(2);
constexpr base::Duration kWindowMax = std::chrono::minutes(10);
constexpr double kMemorySeconds = 600;
constexpr double kZ = 3;

constexpr uint64_t kBiddingMin = 20;
constexpr double kUselessRaise = 0.5;
constexpr double kUselessClear = 0.25;

constexpr double kUsualAnswersMin = 200;
constexpr double kUsualBiddingMin = 20;
constexpr double kExpectedMin = 40;
constexpr double kCollapseRaise = 0.25;
constexpr double kCollapseClear = 0.5;

double ratio(uint64_t count, uint64_t of) {
  return of == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(of);
}

/// The largest true share that makes the observed one plausible.
double upper_bound(uint64_t count, uint64_t of) {
  return 1 - resilience::wilson_lower_bound(of - count, of, kZ);
}

BidCounts since(const BidCounts& now, const BidCounts& then) {
  return {.answers = now.answers - then.answers,
          .bidding = now.bidding - then.bidding,
          .useless = now.useless - then.useless};
}

}  // namespace

std::string_view to_string(BidAlert alert) {
  switch (alert) {
    case BidAlert::kUselessBids:
      return "useless_bids";
    case BidAlert::kBidRateCollapse:
      return "bid_rate_collapse";
  }
  return "";
}

void BidWatch::tick(base::Instant now, const BidCounts& sums, std::vector<BidAlertChange>& out) {
  if (!started_) {
    started_ = true;
    useless_ = bid_rate_ = {.begin = now, .at_begin = sums};
    return;
  }
  judge_useless(now, sums, out);
  judge_bid_rate(now, sums, out);
}

void BidWatch::judge_useless(base::Instant now, const BidCounts& sums,
                             std::vector<BidAlertChange>& out) {
  const BidCounts window = since(sums, useless_.at_begin);
  const base::Duration age = now - useless_.begin;
  if (age < kWindowMin || (window.bidding < kBiddingMin && age < kWindowMax)) {
    return;
  }
  useless_ = {.begin = now, .at_begin = sums};
  if (window.bidding < kBiddingMin) {
    return;
  }
  useless_ratio_ = ratio(window.useless, window.bidding);
  const bool was = raised(BidAlert::kUselessBids);
  const bool bad =
      resilience::wilson_lower_bound(window.useless, window.bidding, kZ) >= kUselessRaise;
  if ((!was && bad) || (was && useless_ratio_ <= kUselessClear)) {
    change({.alert = BidAlert::kUselessBids,
            .raised = !was,
            .count = window.useless,
            .of = window.bidding},
           out);
  }
}

void BidWatch::judge_bid_rate(base::Instant now, const BidCounts& sums,
                              std::vector<BidAlertChange>& out) {
  const BidCounts window = since(sums, bid_rate_.at_begin);
  const base::Duration age = now - bid_rate_.begin;
  const bool known = usual_answers_ >= kUsualAnswersMin && usual_bidding_ >= kUsualBiddingMin;
  const double usual = known ? usual_bidding_ / usual_answers_ : 0;
  // Without a usual rate there is nothing to fall from: windows only teach it.
  const bool telling = !known || usual * static_cast<double>(window.answers) >= kExpectedMin;
  if (age < kWindowMin || (!telling && age < kWindowMax)) {
    return;
  }
  bid_rate_ = {.begin = now, .at_begin = sums};
  if (window.answers > 0) {
    bid_ratio_ = ratio(window.bidding, window.answers);
  }
  if (known && telling) {
    const bool was = raised(BidAlert::kBidRateCollapse);
    const bool fell = upper_bound(window.bidding, window.answers) < kCollapseRaise * usual;
    if ((!was && fell) || (was && bid_ratio_ >= kCollapseClear * usual)) {
      change({.alert = BidAlert::kBidRateCollapse,
              .raised = !was,
              .count = window.bidding,
              .of = window.answers,
              .usual_ratio = usual},
             out);
    }
  }
  if (!raised(BidAlert::kBidRateCollapse)) {
    learn(age, window);
  }
}

void BidWatch::learn(base::Duration spent, const BidCounts& window) {
  const double kept = std::exp(-base::to_ms(spent) / 1000 / kMemorySeconds);
  usual_answers_ = usual_answers_ * kept + static_cast<double>(window.answers);
  usual_bidding_ = usual_bidding_ * kept + static_cast<double>(window.bidding);
}

void BidWatch::change(const BidAlertChange& change, std::vector<BidAlertChange>& out) {
  const auto index = static_cast<size_t>(change.alert);
  raised_[index] = change.raised;
  times_raised_[index] += change.raised ? 1 : 0;
  out.push_back(change);
}

}  // namespace spillway::exchange
