#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "exchange/record.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::exchange {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A row of expect.tsv: a file and what it should come to.
struct Row {
  std::string file, expect;
};

/// Whole auctions over the shared test data.
class AuctionVectors : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kRoot / "expect.tsv")) {
      std::printf("skipped: no shared test data at %s\n", kRoot.c_str());
      GTEST_SKIP() << "no shared test data";
    }
    market_.add("alpha", answers_no_bid());
  }

  static std::vector<Row> rows(std::string_view folder) {
    std::ifstream in(kRoot / "expect.tsv");
    std::vector<Row> found;
    for (std::string line; std::getline(in, line);) {
      const size_t tab = line.find('\t');
      if (line.starts_with(folder) && tab != std::string::npos) {
        found.push_back({line.substr(0, tab), line.substr(tab + 1)});
      }
    }
    return found;
  }

  /// Every reply with a body is one JSON document, and the record gives it again.
  void expect_sound(const std::string& file) {
    if (market_.reply.json) {
      openrtb::Document document;
      const openrtb::Padded body(market_.reply.body);
      EXPECT_TRUE(document.walk(body.view())) << file << '\n' << market_.reply.body;
    }
    Auction again;
    const ReplyBytes reply = replay(market_.snapshot, market_.record, again);
    EXPECT_EQ(reply.body, market_.reply.body) << file;
    EXPECT_EQ(reply.status, market_.reply.status) << file;
  }

  static inline const fs::path kRoot = SPILLWAY_VECTORS;
  FakeMarket market_;
};

bool is_one_of(const std::string& value, const std::string& alternatives) {
  std::stringstream in(alternatives);
  for (std::string word; std::getline(in, word, '|');) {
    if (word == value) {
      return true;
    }
  }
  return false;
}

TEST_F(AuctionVectors, RequestsAreAnsweredOrRefusedAndDspsCalledAsExpected) {
  size_t checked = 0;
  for (const std::string_view folder : {"valid/", "invalid/", "iab/", "hostile/req/"}) {
    for (const Row& row : rows(folder)) {
      const fs::path path = kRoot / row.file;
      // Compressed bodies never reach the auction: they are for the edge to inflate.
      if (path.extension() != ".json") {
        continue;
      }
      std::stringstream words(row.expect);
      std::string statuses;
      std::string called;
      words >> statuses >> called;
      market_.run(contents(path));
      EXPECT_TRUE(statuses == "any" || is_one_of(std::to_string(market_.reply.status), statuses))
          << row.file << " wants " << statuses << ", got " << market_.reply.status << ' '
          << market_.reply.body;
      if (called != "any") {
        EXPECT_EQ(!market_.seen.empty(), called == "called") << row.file;
      }
      if (market_.reply.status == 400) {
        EXPECT_TRUE(market_.seen.empty()) << row.file;
      }
      expect_sound(row.file);
      ++checked;
    }
  }
  EXPECT_GT(checked, 150U);
}

TEST_F(AuctionVectors, HostileAnswersEndTheAuctionSoundly) {
  const std::string request = contents(kRoot / "hostile/req/000-base-valid.json");
  size_t checked = 0;
  for (const Row& row : rows("hostile/resp/")) {
    market_.behaviour[0] = answers(contents(kRoot / row.file));
    market_.run(request);
    if (row.expect == "win") {
      EXPECT_EQ(market_.reply.kind, ReplyKind::kBid) << row.file;
    }
    if (row.expect == "bad" || row.expect == "nobid" || row.expect.starts_with("reject")) {
      EXPECT_NE(market_.reply.kind, ReplyKind::kBid) << row.file;
    }
    EXPECT_NE(market_.reply.status, 400);
    expect_sound(row.file);
    ++checked;
  }
  EXPECT_GE(checked, 50U);
}

}  // namespace
}  // namespace spillway::exchange
