// A catalog that changes all the time under traffic that does not stop.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "bidder/bidder_process.h"
#include "bidder/model.h"
#include "e2e/scrapes.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

/// Few beside other tests, or as many as the environment says.
int64_t campaigns() {
  const char* const said = std::getenv("SPILLWAY_CHURN_CAMPAIGNS");
  return said == nullptr ? 2'000 : std::max(1L, std::strtol(said, nullptr, 10));
}

// Each edition's dearest campaign bids another price; the others are many.
bidder::CatalogRows edition(int number) {
  bidder::CatalogRows rows;
  for (int64_t id = 1; id <= campaigns(); ++id) {
    add_campaign(rows, id, 0.5);
  }
  rows.campaigns.front().goal_value_micros = 1'000'000 + number * 10'000;
  rows.campaigns.front().most = {rows.campaigns.front().goal_value_micros};
  return rows;
}

TEST(BidderChurn, NoRequestMissesWhileTheCatalogIsReplacedAgainAndAgain) {
  const auto patience = 20s + campaigns() * 1ms;
  // With time enough that a busy machine alone is no miss.
  const BidderProcess bidder(edition(0), fmt::format("pipeline: {{ deadline: 450ms }}\n"
                                                     "budget: {{ accounts: {}, open_for: 2s }}\n",
                                                     campaigns() + 1'000));
  ASSERT_TRUE(bidder.ready());
  const Metrics before = bidder.metrics();
  std::atomic<bool> over{false};
  std::atomic<uint64_t> asked{0};
  std::atomic<uint64_t> missed{0};
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 2; ++caller) {
    callers.emplace_back([&, caller] {
      for (uint64_t i = 0; !over; ++i, ++asked) {
        const auto answer = bidder.bid(request_of(fmt::format("c{} {}", caller, i)));
        missed += winner_of(answer) == "1" ? 0 : 1;
      }
    });
  }
  for (int number = 1; number <= 6; ++number) {
    bidder.catalog().write(edition(number));
    const auto price = fmt::format(R"("price":{},)", 1 + number / 100.0);
    EXPECT_TRUE(BidderProcess::within(patience, [&] {
      return bidder.bid(request_of("watch")).body.contains(price);
    })) << price;
  }
  over = true;
  callers.clear();
  const Metrics after = bidder.metrics();
  const auto ms_at = [&](double ratio) {
    return 1e3 * quantile_between(before, after, "spillway_bidder_answer_time_seconds", "", ratio);
  };
  std::printf("%lld campaigns, 6 new catalogs: %llu answers; p50 %.2f ms, p99 %.2f, p99.9 %.2f\n",
              static_cast<long long>(campaigns()), static_cast<unsigned long long>(asked.load()),
              ms_at(0.5), ms_at(0.99), ms_at(0.999));
  EXPECT_GT(asked, 100U);
  EXPECT_EQ(missed, 0U) << "of " << asked;
  for (const auto& [series, value] : bidder.metrics()) {
    EXPECT_TRUE(!series.starts_with("spillway_bidder_no_bids_total") || value == 0)
        << series << " " << value;
  }
  EXPECT_GE(bidder.total("spillway_bidder_catalog_loads_total", {R"(end="taken")"}), 7);
}

}  // namespace
}  // namespace spillway::e2e
