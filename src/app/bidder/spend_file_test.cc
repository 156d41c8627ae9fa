#include "app/bidder/spend_file.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "bidder/pacing/local_grant.h"

namespace spillway::app::bidding {
namespace {

std::vector<bidder::Spent> some() {
  return {{.campaign = 7, .day = 20'000, .on_day = {5}, .ever = {9'000'000'000'000}},
          {.campaign = 8, .day = 20'001, .on_day = {0}, .ever = {1}}};
}

TEST(SpendText, IsReadAsItWasWritten) {
  const auto read = read_spend_text(spend_text(some()));
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].campaign, 7);
  EXPECT_EQ((*read)[0].day, 20'000);
  EXPECT_EQ((*read)[0].on_day.nanos, 5);
  EXPECT_EQ((*read)[0].ever.nanos, 9'000'000'000'000);
  EXPECT_TRUE(read_spend_text(spend_text({}))->empty());
}

TEST(SpendText, WhatIsNotWholeOrWasChangedIsNotBelieved) {
  const std::string text = spend_text(some());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(read_spend_text(text.substr(0, size))) << size;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == '1' ? '2' : '1';
    EXPECT_FALSE(read_spend_text(changed)) << i;
  }
  EXPECT_FALSE(read_spend_text(text + "\n"));
}

class SpendFileTest : public ::testing::Test {
 protected:
  SpendFileTest() : path_(::testing::TempDir() + "spend_" + std::to_string(::getpid())) {
    std::filesystem::remove(path_);
  }

  ~SpendFileTest() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".new");
    std::filesystem::remove(path_ + ".lock");
  }

  std::string path_;
};

TEST_F(SpendFileTest, TheNextProcessReadsWhatTheLastOneWrote) {
  {
    SpendFile file(path_);
    EXPECT_TRUE(file.read()->empty()) << "there is none yet";
    file.write({});
    file.write(some());
  }
  const SpendFile file(path_);
  const auto read = file.read();
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->size(), 2U);
}

TEST_F(SpendFileTest, AFileThatIsNoneOfOursIsNamed) {
  std::ofstream(path_) << "hello\n";
  const SpendFile file(path_);
  const auto read = file.read();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(),
            path_ +
                ": does not begin with spillway-spent-1; without it everything counts as "
                "unspent: move it away for that");
}

TEST_F(SpendFileTest, OneProcessAtATimeHasIt) {
  std::ofstream(path_) << spend_text(some());
  {
    const SpendFile first(path_);
    EXPECT_TRUE(first.read());
    const SpendFile second(path_);
    const auto read = second.read();
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error(), path_ + ": is another process's, which still runs: each needs its own");
  }
  EXPECT_TRUE(SpendFile(path_).read());
}

TEST_F(SpendFileTest, WhatCannotBeWrittenIsCountedAndLeavesTheOldOne) {
  {
    SpendFile(path_).write(some());
  }
  std::filesystem::create_directory(path_ + ".new");
  SpendFile file(path_);
  file.write({});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (file.failures() == 0 && std::chrono::steady_clock::now() < until) {
  }
  EXPECT_EQ(file.failures(), 1U);
  EXPECT_EQ(file.read()->size(), 2U);
}

TEST_F(SpendFileTest, ThatWritingFailsAndThatItWorksAgainIsToldOnceEach) {
  std::vector<int> told;
  {
    SpendFile file(path_, [&told](int error) { told.push_back(error); });
    const auto write_until = [&file](auto count, uint64_t wanted) {
      file.write(some());
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (count() < wanted && std::chrono::steady_clock::now() < until) {
      }
      EXPECT_EQ(count(), wanted);
    };
    const auto written = [&file] { return file.written(); };
    const auto failures = [&file] { return file.failures(); };
    write_until(written, 1);
    std::filesystem::create_directory(path_ + ".new");
    write_until(failures, 1);
    write_until(failures, 2);
    std::filesystem::remove(path_ + ".new");
    write_until(written, 2);
    write_until(written, 3);
    std::filesystem::create_directory(path_ + ".new");
    file.write({});
  }
  EXPECT_EQ(told, (std::vector<int>{EISDIR, 0, EISDIR})) << "the last one at the end";
}

}  // namespace
}  // namespace spillway::app::bidding
