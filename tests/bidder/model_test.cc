// A model from its training to the bids it prices, and what happens to a bad one on the way.
#include "bidder/model.h"

#include <chrono>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "bidder/bidder_process.h"
#include "bidder/scoring/trained_model_test.h"
#include "e2e/exchange_process.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

Finished model(std::vector<std::string> args) {
  args.insert(args.begin(), SPILLWAY_BINARY_DIR "/libexec/spillway-model");
  return run_program(args);
}

std::string trained(int rounds) {
  return bidder::TrainedModel({.columns = 3, .rounds = rounds, .depth = 4}).save("ubj");
}

/// What `spillway model convert` makes of it.
void convert(std::string_view name, const std::string& bytes, const TemporaryFile& out) {
  const TemporaryFile in(bytes);
  const auto done = model({"convert", in.path(), "--name", std::string(name), "--features",
                           "instl,secure,floor_cpm", "-o", out.path()});
  ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
}

/// A campaign that pays for clicks, so that its price is its model's word.
bidder::CatalogRows rows() {
  bidder::CatalogRows rows;
  add_campaign(rows, 1, 50);
  rows.campaigns.front().goal = bidder::Goal::kCpc;
  rows.campaigns.front().goal_value_micros = 20'000;
  return rows;
}

std::string price_of(const BidderProcess& bidder) {
  const std::string body = bidder.bid(request_of("u")).body;
  constexpr std::string_view kName = R"("price":)";
  const size_t at = body.find(kName);
  const size_t from = at + kName.size();
  return at == std::string::npos ? "" : body.substr(from, body.find(',', from) - from);
}

TEST(BidderModel, IsMadeCheckedServedAndKeptWhenTheNextOneIsBad) {
  const TemporaryFile file;
  convert("ctr-1", trained(2), file);
  const auto checked = model({"check", file.path(), "--json"});
  EXPECT_EQ(checked.exit_code, 0);
  EXPECT_NE(checked.out.find(R"("serves":true)"), std::string::npos) << checked.out;

  const std::string scoring =
      fmt::format("scoring: {{ control: {{ click_model: \"{}\" }} }}\n", file.path());
  const BidderProcess bidder(rows(), scoring);
  ASSERT_TRUE(bidder.ready());
  const std::string config = fmt::format("catalog: {{ address: \"{}\", refresh: 100ms }}\n{}{}",
                                         bidder.catalog().address(), kBidderKeys, scoring);
  bidder.rewrite(config);
  const std::string first = price_of(bidder);
  ASSERT_NE(first, "");
  const auto reload = [&] { return bidder.admin().post("/admin/reload", ""); };

  // Cut short on its way, and then with an answer that is not its own: the old one prices on.
  std::ifstream in(file.path(), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  std::string other = good;
  const size_t expected = other.find(R"("expected":[0.)");
  ASSERT_NE(expected, std::string::npos);
  other[expected + 14] = other[expected + 14] == '9' ? '1' : '9';
  for (const auto& [bytes, reason] :
       {std::pair<std::string, std::string>(good.substr(0, good.size() / 2), "syntax"),
        std::pair<std::string, std::string>(other, "parity")}) {
    file.write(bytes);
    const auto refused = model({"check", file.path()});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.out.find(fmt::format("refused ({})", reason)), std::string::npos)
        << refused.out;
    const auto answer = reload();
    EXPECT_EQ(answer.status(), 422);
    EXPECT_NE(answer.body.find(reason), std::string::npos) << answer.body;
    EXPECT_EQ(price_of(bidder), first);
  }
  EXPECT_EQ(bidder.total("spillway_bidder_model_loads_total", {R"(end="refused")"}), 2);

  convert("ctr-2", trained(12), file);
  EXPECT_EQ(reload().status(), 200);
  EXPECT_TRUE(BidderProcess::within(20s, [&] { return price_of(bidder) != first; }))
      << "the new one prices";
}

TEST(BidderModel, OfTheTestArmPricesItsUsersAlone) {
  const TemporaryFile control;
  const TemporaryFile test;
  convert("ctr-1", trained(2), control);
  convert("ctr-2", trained(12), test);
  const auto scoring = [&](double ratio) {
    return fmt::format(
        "scoring: {{ control: {{ click_model: \"{}\" }}, test: {{ click_model: \"{}\" }}, "
        "test_ratio: {} }}\n",
        control.path(), test.path(), ratio);
  };
  const BidderProcess none(rows(), scoring(0));
  const BidderProcess all(rows(), scoring(1));
  ASSERT_TRUE(none.ready());
  ASSERT_TRUE(all.ready());
  EXPECT_NE(price_of(none), price_of(all));
  EXPECT_EQ(none.total("spillway_bidder_arm_answers_total", {R"(arm="control")"}), 1);
  EXPECT_EQ(all.total("spillway_bidder_arm_answers_total", {R"(arm="test")"}), 1);
}

}  // namespace
}  // namespace spillway::e2e
