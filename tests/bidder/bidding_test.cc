#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "adapters/geo_fixture.h"
#include "bidder/bidder_process.h"
#include "bidder/model.h"
#include "e2e/exchange_process.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRequest =
    R"({"id":"r","tmax":500,"at":1,"site":{"domain":"n.example"},"user":{"id":"u"},)"
    R"("imp":[{"id":"1","banner":{"w":300,"h":250}}]})";

std::string with(std::string_view more) {
  std::string body(kRequest);
  body.insert(1, more);
  return body;
}

bidder::CatalogRows one_campaign() {
  bidder::CatalogRows rows;
  add_campaign(rows, 1, 2.5);
  return rows;
}

TEST(Bidder, AnswersBidsAndNoBids) {
  const BidderProcess bidder(one_campaign());
  ASSERT_TRUE(bidder.started());
  ASSERT_TRUE(bidder.ready());
  const auto bid = bidder.bid(kRequest);
  EXPECT_EQ(bid.status(), 200);
  EXPECT_EQ(bid.header("content-type"), "application/json");
  EXPECT_NE(bid.body.find(R"("price":2.5)"), std::string::npos) << bid.body;
  EXPECT_NE(bid.body.find(R"("crid":"100")"), std::string::npos);

  std::string dear(kRequest);
  dear.insert(dear.find(R"("banner")"), R"("bidfloor":3,)");
  EXPECT_EQ(bidder.bid(dear).status(), 204);
  const auto load = bidder.admin().call("GET", "/load").body;
  EXPECT_TRUE(load.starts_with(R"({"requests":2,"successes":2,"failures":0,"in_flight":0,)"))
      << load;
  auto metrics = bidder.metrics();
  EXPECT_EQ(metrics["spillway_bidder_answers_total"], 1);
  EXPECT_EQ(metrics[R"(spillway_bidder_no_bids_total{reason="priced"})"], 1);
  EXPECT_EQ(metrics[R"(spillway_bidder_dropped_total{reason="below_floor",stage="price"})"] +
                metrics[R"(spillway_bidder_dropped_total{stage="price",reason="below_floor"})"],
            1);
}

TEST(Bidder, FindsThePlaceOfAnAddressInItsGeoFile) {
  using adapters::testing::GeoValue;
  adapters::testing::GeoFileWriter writer;
  writer.add("192.0.2.0/24",
             GeoValue::map({{"country", GeoValue::map({{"iso_code", GeoValue::text("DE")}})}}));
  const TemporaryFile file(writer.bytes());
  auto rows = one_campaign();
  rows.line_items.front().targeting.of(bidder::Dimension::kCountry).include = {"DEU"};
  const BidderProcess bidder(rows, "", "", fmt::format(", geo_file: \"{}\"", file.path()));
  ASSERT_TRUE(bidder.ready());
  EXPECT_EQ(bidder.bid(with(R"("device":{"ip":"192.0.2.7"},)")).status(), 200);
  EXPECT_EQ(bidder.bid(with(R"("device":{"ip":"198.51.100.7"},)")).status(), 204);
  EXPECT_EQ(bidder.bid(with(R"("device":{"ip":"192.0.2.7","geo":{"country":"FRA"}},)")).status(),
            204);
  EXPECT_EQ(bidder.bid(kRequest).status(), 204);
}

TEST(Bidder, ExplainsTestsAndDebuggedRequests) {
  const BidderProcess bidder(one_campaign());
  ASSERT_TRUE(bidder.ready());
  const auto explained = bidder.bid(with(R"("test":1,"bcat":["IAB18"],)"));
  EXPECT_EQ(explained.status(), 200);
  EXPECT_NE(explained.body.find(R"("nbr":0)"), std::string::npos) << explained.body;
  EXPECT_NE(explained.body.find(R"("reason":"no_candidate")"), std::string::npos);
  EXPECT_NE(explained.body.find(R"("category":1)"), std::string::npos) << explained.body;
  const auto debugged = bidder.bid(with(R"("ext":{"debug":1},)"));
  EXPECT_NE(debugged.body.find(R"("chosen":true)"), std::string::npos) << debugged.body;
}

TEST(Bidder, RefusesWhatIsNoRequest) {
  const BidderProcess bidder(one_campaign());
  ASSERT_TRUE(bidder.ready());
  const auto bad = bidder.bid(R"({"id":"r","imp":[{"id":"1","banner":{"w":-1,"h":2}}]})");
  EXPECT_EQ(bad.status(), 400);
  EXPECT_NE(bad.body.find("imp[0].banner.w"), std::string::npos) << bad.body;
  EXPECT_EQ(bidder.bid("{").status(), 400);
  EXPECT_EQ(bidder.caller().call("GET", "/openrtb2/bid").status(), 405);
  EXPECT_EQ(bidder.caller().post("/nowhere", "{}").status(), 404);
  EXPECT_EQ(bidder.bid(kRequest, "?exchange=y").status(), 403);
  EXPECT_EQ(bidder.bid(kRequest, "?exchange=x").status(), 200);
}

TEST(Bidder, IsReadyOnceItsCatalogIsThereAndServesANewOneWithoutAPause) {
  const BidderProcess bidder({});
  ASSERT_TRUE(bidder.started());
  ASSERT_TRUE(bidder.reaches(R"(spillway_bidder_catalog_loads_total{end="failed"})", 1));
  EXPECT_EQ(bidder.admin().call("GET", "/readyz").status(), 503);
  EXPECT_EQ(bidder.bid(kRequest).status(), 503);
  auto rows = one_campaign();
  bidder.catalog().write(rows);
  ASSERT_TRUE(bidder.ready());
  EXPECT_NE(bidder.bid(kRequest).body.find(R"("price":2.5)"), std::string::npos);
  add_campaign(rows, 2, 4);
  bidder.catalog().write(rows);
  EXPECT_TRUE(BidderProcess::within(
      20s, [&] { return bidder.bid(kRequest).body.find(R"("price":4)") != std::string::npos; }));
}

TEST(Bidder, StopsWhenToldAndLosesNothing) {
  BidderProcess bidder(one_campaign());
  ASSERT_TRUE(bidder.ready());
  EXPECT_EQ(bidder.bid(kRequest).status(), 200);
  EXPECT_EQ(bidder.stop(), 0);
}

TEST(Bidder, DrainsInThreeSteps) {
  BidderProcess bidder(one_campaign(), "", ", drain_announce: 500ms");
  ASSERT_TRUE(bidder.ready());
  bidder.signal(SIGTERM);
  EXPECT_TRUE(BidderProcess::within(
      5s, [&] { return bidder.admin().call("GET", "/readyz").status() == 503; }));
  const auto late = bidder.bid(kRequest);
  EXPECT_EQ(late.status(), 200);
  EXPECT_EQ(late.header("connection"), "close");
  EXPECT_NE(bidder.wait_for_event({"event=stopped", "clean=true"}, 10s), "");
}

TEST(Bidder, ReloadsAndRefusesWhatCannotChange) {
  const BidderProcess bidder(one_campaign());
  ASSERT_TRUE(bidder.ready());
  const std::string catalog =
      fmt::format("catalog: {{ address: \"{}\", refresh: 100ms }}\n", bidder.catalog().address());
  bidder.rewrite(catalog + "exchanges: [{ name: other, seat: t }]\n");
  EXPECT_EQ(bidder.admin().post("/admin/reload", "").status(), 200);
  EXPECT_TRUE(BidderProcess::within(
      10s, [&] { return bidder.bid(kRequest, "?exchange=other").status() == 200; }));
  EXPECT_EQ(bidder.bid(kRequest, "?exchange=x").status(), 403);
  bidder.rewrite("catalog: { address: \"sqlite:/elsewhere\" }\nexchanges: [{ name: other }]\n");
  const auto refused = bidder.admin().post("/admin/reload", "");
  EXPECT_EQ(refused.status(), 422);
  EXPECT_NE(refused.body.find("catalog.address"), std::string::npos) << refused.body;
}

TEST(Bidder, CapsHoldAcrossRequestsFromTheBidOn) {
  bidder::CatalogRows rows;
  add_campaign(rows, 1, 2.5, {{.window = bidder::CapWindow::kDay, .most = 2}});
  const BidderProcess bidder(rows);
  ASSERT_TRUE(bidder.ready());
  const auto first = bidder.bid(kRequest);
  const auto second = bidder.bid(kRequest);
  ASSERT_EQ(first.status(), 200);
  ASSERT_EQ(second.status(), 200);
  EXPECT_EQ(bidder.bid(kRequest).status(), 204) << "both places are promised";
  // One is lost and free again, one is shown for good.
  EXPECT_EQ(bidder.caller().call("GET", notice_of(first.body, "lurl", "3")).status(), 204);
  EXPECT_EQ(bidder.caller().call("GET", notice_of(second.body, "nurl", "2")).status(), 204);
  EXPECT_EQ(bidder.bid(kRequest).status(), 200);
  EXPECT_EQ(bidder.bid(kRequest).status(), 204);
  std::string other(kRequest);
  other.replace(other.find(R"("id":"u")"), 8, R"("id":"v")");
  EXPECT_EQ(bidder.bid(other).status(), 200);
}

TEST(Bidder, DemoNeedsNothing) {
  const auto help = run_program({SPILLWAY_BINARY_DIR "/libexec/spillway-bidder", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.out.find("--demo"), std::string::npos);
  const auto wrong = run_program({SPILLWAY_BINARY_DIR "/libexec/spillway-bidder"});
  EXPECT_EQ(wrong.exit_code, 2);
}

}  // namespace
}  // namespace spillway::e2e
