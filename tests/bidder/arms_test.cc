// The A/B split from the request to the last event of its bid.
#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "bidder/bidder_process.h"
#include "bidder/model.h"
#include "e2e/exchange_process.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

/// The text of a member of a line of JSON; "" when it is not there.
std::string member(const std::string& line, std::string_view name) {
  const std::string key = fmt::format(R"("{}":")", name);
  const size_t at = line.find(key);
  const size_t from = at + key.size();
  return at == std::string::npos ? "" : line.substr(from, line.find('"', from) - from);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

bidder::CatalogRows rows() {
  bidder::CatalogRows rows;
  add_campaign(rows, 1, 2.5);
  return rows;
}

std::string settings(const std::string& file) {
  return fmt::format("events: {{ file: \"{}\" }}\nscoring: {{ test_ratio: 0.5 }}\n", file);
}

constexpr int kUsers = 40;

/// The arm of each user, by the events of its bids, all of which must say the same.
std::map<std::string, std::string> arms_of(const BidderProcess& bidder, const std::string& file) {
  std::map<std::string, std::string> user_of;  // by the bid
  const auto tell = [&](const Message& answer, std::string_view name) {
    const std::string target = notice_of(answer.body, name, "1.25");
    EXPECT_EQ(bidder.caller().call("GET", target).status(), 204) << target;
  };
  for (int i = 0; i < kUsers; ++i) {
    const std::string user = fmt::format("u{}", i);
    const auto answer = bidder.bid(request_of(user));
    user_of[member(answer.body, "id")] = user;  // of the answer
    const size_t bid = answer.body.find(R"("bid":[{"id":")");
    EXPECT_NE(bid, std::string::npos) << answer.body;
    user_of[member(answer.body.substr(bid), "id")] = user;
    if (i % 2 == 0) {
      tell(answer, "nurl");
      tell(answer, "burl");
    } else {
      tell(answer, "lurl");
    }
  }
  EXPECT_TRUE(BidderProcess::within(20s, [&] {
    return bidder.total("spillway_bidder_events_total", {R"(end="written")"}) == 2 * kUsers;
  }));
  std::map<std::string, std::string> arm_of;
  std::map<std::string, int> events;
  for (const auto& line : lines_of(file)) {
    const std::string user = user_of[member(line, "bid")];
    const std::string arm = member(line, "arm");
    EXPECT_TRUE(arm == "control" || arm == "test") << line;
    EXPECT_NE(user, "") << line;
    const auto [known, is_new] = arm_of.emplace(user, arm);
    EXPECT_EQ(known->second, arm) << line;
    ++events[member(line, "event") + " " + arm];
    if (member(line, "event") == "win") {
      EXPECT_TRUE(line.contains(R"("price_cpm":1.25,)")) << line;
    }
  }
  for (const std::string_view arm : {"control", "test"}) {
    const std::string label = fmt::format(R"(arm="{}")", arm);
    const auto of = [&](std::string_view event) {
      return static_cast<double>(events[fmt::format("{} {}", event, arm)]);
    };
    EXPECT_GT(of("bid"), 5) << "both arms are there";
    EXPECT_EQ(bidder.total("spillway_bidder_arm_answers_total", {label}), of("bid"));
    EXPECT_EQ(bidder.total("spillway_bidder_arm_notices_total", {label, R"(kind="win")"}),
              of("win"));
    EXPECT_EQ(bidder.total("spillway_bidder_arm_notices_total", {label, R"(kind="loss")"}),
              of("loss"));
  }
  EXPECT_EQ(events["billing control"] + events["billing test"], 0) << "the win's repetition";
  return arm_of;
}

TEST(BidderArms, AreInEveryEventAndTheSameInEveryProcess) {
  const TemporaryFile first_file;
  const TemporaryFile second_file;
  const BidderProcess first(rows(), settings(first_file.path()));
  const BidderProcess second(rows(), settings(second_file.path()));
  ASSERT_TRUE(first.ready());
  ASSERT_TRUE(second.ready());
  const auto arms = arms_of(first, first_file.path());
  EXPECT_EQ(arms.size(), static_cast<size_t>(kUsers));
  EXPECT_EQ(arms_of(second, second_file.path()), arms);
}

TEST(BidderArms, AWinThatAnotherProcessIsToldOfStillSaysItsArm) {
  const TemporaryFile file;
  const BidderProcess one(rows(), "scoring: { test_ratio: 1 }\n");
  const BidderProcess other(rows(), fmt::format("events: {{ file: \"{}\" }}\n", file.path()));
  ASSERT_TRUE(one.ready());
  ASSERT_TRUE(other.ready());
  const auto answer = one.bid(request_of("u"));
  EXPECT_EQ(other.caller().call("GET", notice_of(answer.body, "nurl", "2")).status(), 204);
  EXPECT_EQ(other.total("spillway_bidder_arm_notices_total", {R"(arm="test")", R"(kind="win")"}),
            1);
  EXPECT_TRUE(other.reaches(R"(spillway_bidder_events_total{end="written"})", 1));
  const auto lines = lines_of(file.path());
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(member(lines[0], "arm"), "test");
  EXPECT_EQ(member(lines[0], "end"), "late");
}

TEST(BidderArms, TestsOfAnExchangeAreNoEvents) {
  const TemporaryFile file;
  const BidderProcess bidder(rows(), settings(file.path()));
  ASSERT_TRUE(bidder.ready());
  std::string body = request_of("u");
  body.insert(1, R"("test":1,)");
  const auto answer = bidder.bid(body);
  EXPECT_EQ(bidder.caller().call("GET", notice_of(answer.body, "nurl", "2")).status(), 204);
  (void)bidder.bid(request_of("u"));
  EXPECT_TRUE(bidder.reaches(R"(spillway_bidder_events_total{end="written"})", 1));
  EXPECT_EQ(lines_of(file.path()).size(), 1U);
}

}  // namespace
}  // namespace spillway::e2e
