#include "balance/record.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "balance/control_group.h"
#include "balance/work.h"

namespace spillway::balance {
namespace {

/// Two back ends of 0.1 and 0.2 cores that use 0.05 and 0.05 cores; from `turn_s` on the second
/// uses 0.1.
Record record_of(int seconds, int turn_s) {
  Record record{.names = {"a", "b"}, .cores = {0.1, 0.2}, .readings = {}};
  double b = 0;
  for (int t = 0; t <= seconds; ++t) {
    record.readings.push_back(
        {.at_s = 1.0 * t, .cpu_s = {0.05 * t, b}, .weights = {}, .chosen = {}});
    b += t < turn_s ? 0.05 : 0.1;
  }
  return record;
}

TEST(BalanceRecord, WindowsHoldTheirOwnSecondsAndNoOthers) {
  const auto all = windows(record_of(40, 20), 10, 10);
  ASSERT_EQ(all.size(), 31U);
  EXPECT_NEAR(all.front().ends_at_s, 10, 1e-9);
  EXPECT_NEAR(all.front().spread(), 25, 1e-9);
  EXPECT_NEAR(all[10].spread(), 25, 1e-9);
  EXPECT_NEAR(all[15].spread(), 12.5, 1e-9);
  EXPECT_NEAR(all.back().spread(), 0, 1e-9);
  EXPECT_NEAR(all.back().mean(), 50, 1e-9);
  EXPECT_EQ(windows(record_of(40, 20), 10, 30).size(), 11U);
  EXPECT_TRUE(windows(record_of(40, 20), 60, 0).empty());
}

TEST(BalanceRecord, AZoneIsHeldAgainstItselfAlone) {
  const auto own = windows(record_of(20, 20), 10, 10, {1});
  EXPECT_NEAR(own.front().spread(), 0, 1e-9);
  EXPECT_NEAR(own.front().mean(), 25, 1e-9);
}

TEST(BalanceRecord, SharesAndQuantilesCountWindows) {
  const auto all = windows(record_of(40, 20), 10, 10);
  EXPECT_NEAR(share_within(all, 0.1), 11.0 / 31, 1e-9);
  EXPECT_NEAR(spread_quantile(all, 1), 25, 1e-9);
  EXPECT_NEAR(spread_quantile(all, 0), 0, 1e-9);
  EXPECT_EQ(share_within({}, 5), 0);
}

TEST(BalanceControlGroup, HoldsItsMembersToTheirShareAndIsGoneAfterwards) {
  std::filesystem::path folder;
  {
    const ControlGroup group("share", 0.2, std::chrono::milliseconds(20));
    if (!group.error().empty()) {
      GTEST_SKIP() << group.error();
    }
    folder = group.quota_folder();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(20);
      while (true) {
        const volatile uint64_t used = burn(100'000);
        (void)used;
      }
    }
    ASSERT_TRUE(group.take_in(pid));
    const auto before = group.used();
    const auto start = std::chrono::steady_clock::now();
    ::poll(nullptr, 0, 500);
    const std::chrono::duration<double> used = group.used() - before;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    EXPECT_GT(used / took, 0.02);
    EXPECT_LT(used / took, 0.3);
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace spillway::balance
