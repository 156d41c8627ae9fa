#include "app/balancer/state_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "adapters/redis_fixture.h"

namespace spillway::app::balancing {
namespace {

std::string states(int weight, int seconds) {
  return fmt::format(
      "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight "
      "srv_iweight srv_time_since_last_change srv_check_status\n"
      "3 ex 1 srv1 10.0.0.1 2 0 {} 100 {} 6\n\n",
      weight, seconds);
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(StateFile, IsWrittenWhenMoreThanTimeHasPassed) {
  const adapters::testing::ScratchFolder folder;
  const auto path = folder.path() + "/state";
  StateFile file(path);
  EXPECT_TRUE(file.keep(states(100, 1)));
  EXPECT_EQ(read(path), states(100, 1));
  EXPECT_TRUE(file.keep(states(100, 2)));
  EXPECT_EQ(read(path), states(100, 1));
  EXPECT_TRUE(file.keep(states(99, 3)));
  EXPECT_EQ(read(path), states(99, 3));
  EXPECT_EQ(file.written(), 2U);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(StateFile, KeepsWhatItHasWhenHaproxyAnswersSomethingElse) {
  const adapters::testing::ScratchFolder folder;
  const auto path = folder.path() + "/state";
  StateFile file(path);
  EXPECT_TRUE(file.keep(states(100, 1)));
  EXPECT_TRUE(file.keep("Can't find backend.\n"));
  EXPECT_TRUE(file.keep(""));
  EXPECT_EQ(read(path), states(100, 1));
}

TEST(StateFile, SaysWhyItCannotBeWrittenAndTriesAgain) {
  const adapters::testing::ScratchFolder folder;
  const auto path = folder.path() + "/later/state";
  StateFile file(path);
  EXPECT_FALSE(file.keep(states(100, 1)));
  EXPECT_EQ(file.error(), path + ": No such file or directory");
  std::filesystem::create_directory(folder.path() + "/later");
  EXPECT_TRUE(file.keep(states(100, 1)));
  EXPECT_EQ(file.error(), "");
  EXPECT_EQ(file.failed(), 1U);
  std::filesystem::remove_all(folder.path() + "/later");
}

TEST(StateFile, WithoutAPathThereIsNone) {
  StateFile file("");
  EXPECT_TRUE(file.keep(states(100, 1)));
  EXPECT_EQ(file.written(), 0U);
}

}  // namespace
}  // namespace spillway::app::balancing
