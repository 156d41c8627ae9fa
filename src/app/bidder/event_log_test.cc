#include "app/bidder/event_log.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bidder/scoring/ab_split.h"

namespace spillway::app::bidding {
namespace {

using Clock = std::chrono::steady_clock;

BidEvent event(uint64_t bid) {
  return {.kind = BidEvent::Kind::kWin,
          .arm = bidder::Arm::kTest,
          .end = "settled",
          .unix_ms = 1'767'225'600'123,
          .bid = bid,
          .campaign = 7,
          .creative = 70,
          .price = {2'500'000},
          .currency = {{'E', 'U', 'R'}},
          .exchange = std::string_view("x"),
          .request = std::string_view("r \"1\""),
          .imp = std::string_view("1")};
}

/// A name that no file has yet.
class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest() : path_(::testing::TempDir() + "events_" + std::to_string(::getpid())) {
    std::filesystem::remove(path_);
  }

  ~EventLogTest() override { std::filesystem::remove(path_); }

  static std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream in(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
      lines.push_back(line);
    }
    return lines;
  }

  template <typename Condition>
  static bool within_ten_seconds(Condition condition) {
    const auto until = Clock::now() + std::chrono::seconds(10);
    while (!condition()) {
      if (Clock::now() > until) {
        return false;
      }
    }
    return true;
  }

  std::string path_;
};

TEST_F(EventLogTest, EveryEventIsALineOfJson) {
  {
    EventLog log({.file = path_, .queue = 16}, 2);
    ASSERT_EQ(log.error(), "");
    log.offer(0, event(0xab));
    log.offer(1, event(0xcd));
  }
  const auto lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], R"({"event":"win","unix_ms":1767225600123,"arm":"test","exchange":"x",)"
                      R"("request":"r \"1\"","imp":"1","bid":"00000000000000ab","campaign":7,)"
                      R"("creative":70,"price_cpm":2.5,"currency":"EUR","end":"settled"})");
}

TEST_F(EventLogTest, LongTextIsCutBetweenCharacters) {
  std::string text(63, 'a');
  text += "\xc3\xa9";
  EXPECT_EQ(EventText<64>(text).view(), std::string(63, 'a'));
  EXPECT_EQ(EventText<65>(text).view(), text);
}

TEST_F(EventLogTest, AFullDiskLosesEventsAndCountsThem) {
  EventLog log({.file = "/dev/full", .queue = 64}, 1);
  ASSERT_EQ(log.error(), "");
  for (uint64_t i = 0; i < 10; ++i) {
    log.offer(0, event(i));
  }
  EXPECT_TRUE(within_ten_seconds([&] { return log.lost() == 10; }));
  EXPECT_EQ(log.written(), 0U);
}

TEST_F(EventLogTest, APipeThatNobodyReadsHoldsNobodyUpAndWhatIsReadLaterIsWhole) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EventLog log({.file = path_, .queue = 4'096}, 1);
  ASSERT_EQ(log.error(), "");
  uint64_t offered = 0;
  ASSERT_TRUE(within_ten_seconds([&] {
    log.offer(0, event(++offered));
    return log.lost() > 0;
  })) << "the pipe fills";
  std::string text;
  std::vector<char> bytes(1 << 16);
  const auto all_read = [&] {
    const bool settled = log.written() + log.lost() + log.dropped() == offered;
    const auto got = ::read(reader, bytes.data(), bytes.size());
    text.append(bytes.data(), got > 0 ? static_cast<size_t>(got) : 0);
    return settled && got <= 0;
  };
  ASSERT_TRUE(within_ten_seconds(all_read));
  const uint64_t lost = log.lost();
  log.offer(0, event(++offered));
  ASSERT_TRUE(within_ten_seconds(all_read));
  EXPECT_EQ(log.lost(), lost) << "there is room again";
  std::istringstream in(text);
  uint64_t whole = 0;
  uint64_t pieces = 0;
  for (std::string line; std::getline(in, line);) {
    const bool is_whole = line.starts_with("{\"event\"") && line.ends_with("\"settled\"}");
    (is_whole ? whole : pieces) += 1;
  }
  EXPECT_EQ(whole, log.written()) << "every event that counts as written can be read";
  EXPECT_LE(pieces, log.lost());
  ::close(reader);
}

TEST_F(EventLogTest, AFileThatWasMovedAwayIsMadeAnew) {
  const std::string moved = path_ + ".1";
  EventLog log({.file = path_, .queue = 16}, 1);
  log.offer(0, event(1));
  ASSERT_TRUE(within_ten_seconds([&] { return log.written() == 1; }));
  std::filesystem::rename(path_, moved);
  log.reopen();
  log.offer(0, event(2));
  ASSERT_TRUE(within_ten_seconds([&] { return log.written() == 2; }));
  EXPECT_EQ(lines_of(path_).size(), 1U);
  EXPECT_EQ(lines_of(moved).size(), 1U);
  std::filesystem::remove(moved);
}

TEST_F(EventLogTest, ALineThatAnotherProcessLeftTornIsNotGluedToTheNext) {
  std::ofstream(path_) << R"({"event":"bi)";
  {
    EventLog log({.file = path_, .queue = 16}, 1);
    log.offer(0, event(1));
  }
  const auto lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], R"({"event":"bi)");
  EXPECT_TRUE(lines[1].starts_with(R"({"event":"win")")) << lines[1];
}

TEST_F(EventLogTest, WhatCannotBeOpenedIsSaid) {
  const EventLog log({.file = "/no/such/folder/events"}, 1);
  EXPECT_NE(log.error().find("/no/such/folder/events: No such file"), std::string::npos);
}

}  // namespace
}  // namespace spillway::app::bidding
