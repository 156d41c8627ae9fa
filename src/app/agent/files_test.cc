#include "app/agent/files.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "adapters/redis_fixture.h"

namespace spillway::app::agent {
namespace {

std::string whole(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SavedState, IsReadAsItWasWritten) {
  const adapters::testing::ScratchFolder folder;
  const auto file = folder.path() + "/state";
  ASSERT_TRUE(save_state(
      file,
      {.weight = 120.25, .capacity = 812.5, .drained = true, .saved_at_ms = 1'800'000'000'000}));
  const auto state = parse_state(whole(file));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->weight, 120.25);
  EXPECT_EQ(state->capacity, 812.5);
  EXPECT_TRUE(state->drained);
  EXPECT_EQ(state->saved_at_ms, 1'800'000'000'000);
  EXPECT_FALSE(save_state(folder.path() + "/no/such/folder", {}));
}

TEST(SavedState, AnyOtherTextIsNone) {
  for (const std::string_view bad :
       {"", "spillway-agent-state 1 ", "spillway-agent-state 1 1 2 0",
        "spillway-agent-state 2 1 2 0 4", "spillway-agent-state 1 300 2 0 4",
        "spillway-agent-state 1 1 -2 0 4", "spillway-agent-state 1 nan 2 0 4",
        "spillway-agent-state 1 1 2 5 4"}) {
    EXPECT_FALSE(parse_state(bad)) << bad;
  }
}

TEST(LineFile, BeginsANewFileWhenOneWouldGrowTooLarge) {
  const adapters::testing::ScratchFolder folder;
  const auto name = folder.path() + "/lines";
  LineFile file(name, 10);
  file.append("one");
  file.append("two");
  file.append("three");
  EXPECT_EQ(whole(name), "three\n");
  EXPECT_EQ(whole(name + ".1"), "one\ntwo\n");
  EXPECT_EQ(file.lines(), 3U);
}

TEST(LineFile, BeginsALineOfItsOwnWhereAnotherProcessLeftOneTorn) {
  const adapters::testing::ScratchFolder folder;
  const auto name = folder.path() + "/lines";
  std::ofstream(name) << "half";
  LineFile file(name, 100);
  file.append("one");
  EXPECT_EQ(whole(name), "half\none\n");
}

TEST(LineFile, StaysWithinItsBytesWhenTheOldOneCannotBeMovedAway) {
  const adapters::testing::ScratchFolder folder;
  const auto name = folder.path() + "/lines";
  std::filesystem::create_directories(name + ".1/full");
  LineFile file(name, 10);
  for (const char* const line : {"one", "two", "three", "four"}) {
    file.append(line);
  }
  EXPECT_EQ(whole(name), "one\ntwo\n");
  EXPECT_EQ(file.failures(), 2U);
}

TEST(LineFile, CountsWhatItCannotWrite) {
  const adapters::testing::ScratchFolder folder;
  LineFile file(folder.path() + "/no/such/folder", 10);
  file.append("lost");
  EXPECT_EQ(file.failures(), 1U);
  EXPECT_EQ(file.lines(), 0U);
}

}  // namespace
}  // namespace spillway::app::agent
