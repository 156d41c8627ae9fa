#include "adapters/cpu_reader.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/redis_fixture.h"
#include "base/time.h"
#include "net/os_clock.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;

/// A tree of files as the kernel shows them.
class CpuTree : public ::testing::Test {
 protected:
  CpuTree() {
    put("proc/stat",
        "cpu 1000 0 0 9000 0 0 0 0\ncpu0 1 0 0 1\ncpu1 1 0 0 1\ncpu2 1 0 0 1\n"
        "cpu3 1 0 0 1\nintr 1\n");
  }

  void put(const std::string& path, std::string_view text) const {
    const auto whole = folder_.path() + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    std::ofstream(whole) << text;
  }

  [[nodiscard]] CpuSettings settings(CpuSource source = CpuSource::kAuto,
                                     const std::string& cgroup = "") const {
    CpuSettings out;
    out.source = source;
    out.cgroup = cgroup;
    out.proc_root = folder_.path() + "/proc";
    out.cgroup_root = folder_.path() + "/cg";
    return out;
  }

  testing::ScratchFolder folder_;
  base::Instant start_{1h};
};

TEST_F(CpuTree, MachineUseIsOfWhatTheHypervisorDidNotTake) {
  CpuReader reader(settings());
  EXPECT_EQ(reader.read(start_).error(), CpuErrc::kFirst);
  // In 2 s of 4 processors: 300 used, 300 idle, 200 stolen.
  put("proc/stat",
      "cpu 1250 0 50 9300 0 0 0 200\ncpu0 1 0 0 1\ncpu1 1 0 0 1\ncpu2 1 0 0 1\n"
      "cpu3 1 0 0 1\n");
  const auto window = reader.read(start_ + 2s);
  ASSERT_TRUE(window);
  EXPECT_EQ(reader.form(), CpuForm::kHost);
  EXPECT_NEAR(window->utilization, 0.5, 1e-9);
  EXPECT_NEAR(window->allowed_cores, 3.0, 1e-9);
  EXPECT_NEAR(window->used_cores, 1.5, 1e-9);
  EXPECT_NEAR(window->stolen_ratio, 0.25, 1e-9);
  EXPECT_EQ(window->length, 2s);
}

TEST_F(CpuTree, Version2GroupIsMeasuredAgainstTheTightestQuotaAbove) {
  put("cg/app/web/cpu.stat", "usage_usec 1000000\nnr_periods 10\nnr_throttled 2\n");
  put("cg/app/web/cpu.max", "200000 100000\n");
  put("cg/app/cpu.max", "150000 100000\n");
  put("cg/app/web/cpu.pressure", "some avg10=0 avg60=0 avg300=0 total=1000\n");
  put("proc/77/cgroup", "0::/app/web\n");
  auto with_pid = settings();
  with_pid.pid = 77;
  CpuReader reader(with_pid);
  EXPECT_EQ(reader.read(start_).error(), CpuErrc::kFirst);
  EXPECT_EQ(reader.form(), CpuForm::kCgroupV2);
  put("cg/app/web/cpu.stat", "usage_usec 1750000\nnr_periods 20\nnr_throttled 7\n");
  put("cg/app/web/cpu.pressure", "some avg10=0 avg60=0 avg300=0 total=101000\n");
  const auto window = reader.read(start_ + 1s);
  ASSERT_TRUE(window);
  EXPECT_NEAR(window->utilization, 0.5, 1e-9);
  EXPECT_NEAR(window->allowed_cores, 1.5, 1e-9);
  EXPECT_NEAR(window->throttled_ratio, 0.5, 1e-9);
  EXPECT_NEAR(window->stalled_ratio, 0.1, 1e-9);
}

TEST_F(CpuTree, QuotaIsReadAgainEachTime) {
  put("cg/web/cpu.stat", "usage_usec 0\n");
  put("cg/web/cpu.max", "100000 100000\n");
  CpuReader reader(settings(CpuSource::kAuto, "/web"));
  EXPECT_FALSE(reader.read(start_));
  put("cg/web/cpu.stat", "usage_usec 500000\n");
  EXPECT_NEAR(reader.read(start_ + 1s)->utilization, 0.5, 1e-9);
  put("cg/web/cpu.max", "50000 100000\n");
  put("cg/web/cpu.stat", "usage_usec 1000000\n");
  EXPECT_NEAR(reader.read(start_ + 2s)->utilization, 1.0, 1e-9);
}

TEST_F(CpuTree, ProcessorSetLimitsWhatAQuotaAllows) {
  put("cg/web/cpu.stat", "usage_usec 0\n");
  put("cg/web/cpu.max", "800000 100000\n");
  put("cg/web/cpuset.cpus.effective", "0-1\n");
  CpuReader reader(settings(CpuSource::kAuto, "/web"));
  EXPECT_FALSE(reader.read(start_));
  put("cg/web/cpu.stat", "usage_usec 1000000\n");
  EXPECT_NEAR(reader.read(start_ + 1s)->utilization, 0.5, 1e-9);
}

TEST_F(CpuTree, GroupWithoutAQuotaIsTheMachineUnlessToldOtherwise) {
  put("cg/web/cpu.stat", "usage_usec 0\n");
  put("cg/web/cpu.max", "max 100000\n");
  CpuReader by_itself(settings(CpuSource::kAuto, "/web"));
  EXPECT_EQ(by_itself.read(start_).error(), CpuErrc::kFirst);
  EXPECT_EQ(by_itself.form(), CpuForm::kHost);
  CpuReader told(settings(CpuSource::kCgroup, "/web"));
  EXPECT_EQ(told.read(start_).error(), CpuErrc::kFirst);
  EXPECT_EQ(told.form(), CpuForm::kCgroupV2);
  put("cg/web/cpu.stat", "usage_usec 1000000\n");
  EXPECT_NEAR(told.read(start_ + 1s)->utilization, 0.25, 1e-9);  // of four processors
}

TEST_F(CpuTree, Version1KeepsUsageAndQuotaInHierarchiesOfTheirOwn) {
  put("cg/cpuacct/acct/cpuacct.usage", "5000000000\n");
  put("cg/cpu/lim/cpu.stat", "nr_periods 4\nnr_throttled 1\nthrottled_time 5\n");
  put("cg/cpu/lim/cpu.cfs_quota_us", "20000\n");
  put("cg/cpu/lim/cpu.cfs_period_us", "50000\n");
  put("cg/unified/u/cpu.pressure", "some avg10=0 avg60=0 avg300=0 total=0\n");
  put("proc/9/cgroup", "3:cpuacct:/acct\n2:cpu:/lim\n0::/u\n");
  put("pid", "9\n");
  auto watching = settings();
  watching.pid_file = folder_.path() + "/pid";
  CpuReader reader(watching);
  EXPECT_EQ(reader.read(start_).error(), CpuErrc::kFirst);
  EXPECT_EQ(reader.form(), CpuForm::kCgroupV1);
  put("cg/cpuacct/acct/cpuacct.usage", "5100000000\n");
  put("cg/cpu/lim/cpu.stat", "nr_periods 14\nnr_throttled 11\nthrottled_time 5\n");
  put("cg/unified/u/cpu.pressure", "some avg10=0 avg60=0 avg300=0 total=500000\n");
  const auto window = reader.read(start_ + 1s);
  ASSERT_TRUE(window);
  EXPECT_NEAR(window->utilization, 0.25, 1e-9);
  EXPECT_NEAR(window->throttled_ratio, 1.0, 1e-9);
  EXPECT_NEAR(window->stalled_ratio, 0.5, 1e-9);
}

TEST_F(CpuTree, Version1JoinedHierarchyAndAQuotaOfMinusOne) {
  put("cg/cpu,cpuacct/a/b/cpuacct.usage", "0\n");
  put("cg/cpu,cpuacct/a/b/cpu.stat", "nr_periods 0\nnr_throttled 0\n");
  put("cg/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  put("cg/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  put("cg/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n");
  put("cg/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  CpuReader reader(settings(CpuSource::kAuto, "/a/b/"));
  EXPECT_FALSE(reader.read(start_));
  EXPECT_EQ(reader.form(), CpuForm::kCgroupV1);
  put("cg/cpu,cpuacct/a/b/cpuacct.usage", "250000000\n");
  EXPECT_NEAR(reader.read(start_ + 1s)->utilization, 0.5, 1e-9);
}

TEST_F(CpuTree, InAContainerThePathOfTheMachineLeadsToTheMountedGroup) {
  put("cg/cpu.stat", "usage_usec 0\n");
  put("cg/cpu.max", "50000 100000\n");
  put("proc/5/cgroup", "0::/kubepods/pod1/c1\n");
  auto watching = settings();
  watching.pid = 5;
  CpuReader reader(watching);
  EXPECT_FALSE(reader.read(start_));
  put("cg/cpu.stat", "usage_usec 250000\n");
  EXPECT_NEAR(reader.read(start_ + 1s)->utilization, 0.5, 1e-9);
}

TEST_F(CpuTree, FollowsAProcessThatWasStartedAnewInAnotherGroup) {
  put("cg/one/cpu.stat", "usage_usec 100\n");
  put("cg/one/cpu.max", "100000 100000\n");
  put("cg/two/cpu.stat", "usage_usec 0\n");
  put("cg/two/cpu.max", "50000 100000\n");
  put("proc/5/cgroup", "0::/one\n");
  auto watching = settings();
  watching.pid = 5;
  CpuReader reader(watching);
  EXPECT_EQ(reader.read(start_).error(), CpuErrc::kFirst);
  std::filesystem::remove_all(folder_.path() + "/cg/one");
  put("proc/5/cgroup", "0::/two\n");
  EXPECT_EQ(reader.read(start_ + 1s).error(), CpuErrc::kUnreadable);
  EXPECT_EQ(reader.read(start_ + 2s).error(), CpuErrc::kFirst);
  put("cg/two/cpu.stat", "usage_usec 250000\n");
  EXPECT_NEAR(reader.read(start_ + 3s)->utilization, 0.5, 1e-9);
}

TEST_F(CpuTree, SaysWhyThereIsNoWindow) {
  put("cg/web/cpu.stat", "usage_usec 1000\n");
  put("cg/web/cpu.max", "100000 100000\n");
  EXPECT_EQ(CpuReader(settings(CpuSource::kCgroup, "/none")).read(start_).error(),
            CpuErrc::kNoGroup);
  EXPECT_EQ(CpuReader(settings(CpuSource::kCgroup)).read(start_).error(), CpuErrc::kNoGroup);
  auto watching = settings();
  watching.pid_file = folder_.path() + "/none";
  EXPECT_EQ(CpuReader(watching).read(start_).error(), CpuErrc::kNoGroup);
  CpuReader reader(settings(CpuSource::kAuto, "/web"));
  EXPECT_EQ(reader.read(start_).error(), CpuErrc::kFirst);
  EXPECT_EQ(reader.read(start_ + 1ms).error(), CpuErrc::kTooShort);
  put("cg/web/cpu.stat", "usage_usec 10\n");
  EXPECT_EQ(reader.read(start_ + 1s).error(), CpuErrc::kBackwards);
  put("cg/web/cpu.stat", "usage_usec 500010\n");
  EXPECT_NEAR(reader.read(start_ + 2s)->utilization, 0.5, 1e-9);
}

// ---- the kernel itself ----

/// Control groups of the test's own; removed when their members have ended.
class LiveGroup {
 public:
  explicit LiveGroup(std::initializer_list<std::string> roots) {
    for (const auto& root : roots) {
      const auto folder = root + name();
      std::error_code failed;
      if (!std::filesystem::create_directory(folder, failed)) {
        error_ = folder + " cannot be made: " + failed.message();
        return;
      }
      folders_.push_back(folder);
    }
  }

  LiveGroup(const LiveGroup&) = delete;
  LiveGroup& operator=(const LiveGroup&) = delete;

  ~LiveGroup() {
    for (const auto& folder : folders_) {
      ::rmdir(folder.c_str());
    }
  }

  static std::string name() { return "/spillway-cpu-reader-" + std::to_string(::getpid()); }

  void write(size_t folder, const std::string& file, const std::string& text) {
    std::ofstream out(folders_.at(folder) + "/" + file);
    out << text << std::flush;
    if (!out) {
      error_ = folders_.at(folder) + "/" + file + " cannot be written";
    }
  }

  [[nodiscard]] const std::string& error() const { return error_; }

  /// Burns `cpu` of processor time in a process in all groups; the time it had by its own account.
  double burn(base::Duration cpu) {
    int gate[2];
    EXPECT_EQ(::pipe(gate), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      char go = 0;
      (void)!::read(gate[0], &go, 1);
      timespec used{};
      do {
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
      } while (std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec) < cpu);
      ::_exit(0);
    }
    for (size_t i = 0; i < folders_.size(); ++i) {
      write(i, "cgroup.procs", std::to_string(pid));
    }
    EXPECT_EQ(::write(gate[1], "g", 1), 1);
    rusage usage{};
    ::wait4(pid, nullptr, 0, &usage);
    ::close(gate[0]);
    ::close(gate[1]);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

 private:
  std::vector<std::string> folders_;
  std::string error_;
};

TEST(LiveCpu, Version1QuotaIsReadWithinTwoPointsOfAFiveSecondWindow) {
  LiveGroup group({"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct"});
  if (group.error().empty()) {
    group.write(0, "cpu.cfs_period_us", "50000");
    group.write(0, "cpu.cfs_quota_us", "10000");
  }
  if (!group.error().empty()) {
    std::printf("skipped: no version 1 control group with a quota: %s\n", group.error().c_str());
    GTEST_SKIP();
  }
  CpuSettings settings;
  settings.cgroup = LiveGroup::name();
  CpuReader reader(settings);
  const net::OsClock clock;
  ASSERT_EQ(reader.read(clock.now()).error(), CpuErrc::kFirst);
  EXPECT_EQ(reader.form(), CpuForm::kCgroupV1);
  // A fifth of a core for 0.9 s of work: some 4.5 s.
  const double used_s = group.burn(900ms);
  const auto window = reader.read(clock.now());
  ASSERT_TRUE(window);
  const double expected = used_s / (0.2 * std::chrono::duration<double>(window->length).count());
  std::printf("window %.2f s: utilization %.4f, by the burner's own account %.4f, throttled %.2f\n",
              std::chrono::duration<double>(window->length).count(), window->utilization, expected,
              window->throttled_ratio);
  EXPECT_NEAR(window->allowed_cores, 0.2, 1e-9);
  EXPECT_NEAR(window->utilization, expected, 0.02);
  EXPECT_GT(window->throttled_ratio, 0.5);
}

TEST(LiveCpu, Version2UsageIsReadWithoutItsController) {
  const bool unified = std::filesystem::exists("/sys/fs/cgroup/unified/cgroup.procs");
  LiveGroup group({unified ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup"});
  if (!group.error().empty()) {
    std::printf("skipped: no version 2 control group: %s\n", group.error().c_str());
    GTEST_SKIP();
  }
  CpuSettings settings;
  settings.source = CpuSource::kCgroup;
  settings.cgroup = LiveGroup::name();
  CpuReader reader(settings);
  const net::OsClock clock;
  ASSERT_EQ(reader.read(clock.now()).error(), CpuErrc::kFirst);
  EXPECT_EQ(reader.form(), CpuForm::kCgroupV2);
  const double used_s = group.burn(300ms);
  const auto window = reader.read(clock.now());
  ASSERT_TRUE(window);
  EXPECT_NEAR(window->used_cores * std::chrono::duration<double>(window->length).count(), used_s,
              0.02);
}

}  // namespace
}  // namespace spillway::adapters
