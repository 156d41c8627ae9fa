#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/kernel_file.h"
#include "base/result.h"
#include "base/time.h"

namespace spillway::adapters {

/// Whose processor time counts as the server's.
enum class CpuSource : uint8_t {
  kAuto,    ///< The control group when it, or one above it, has a quota; else the machine.
  kHost,    ///< The whole machine.
  kCgroup,  ///< The control group, of version 2 or 1 as found.
};

/// What the reader found to read.
enum class CpuForm : uint8_t { kHost, kCgroupV2, kCgroupV1 };

/// snake_case name, as in metrics and logs.
[[nodiscard]] std::string_view to_string(CpuForm form);

struct CpuSettings {
  CpuSource source = CpuSource::kAuto;
  /// The watched group is this one ("/system.slice/exchange.service"), else that of the process in
  /// `pid_file`, else of `pid`; none of them: the machine.
  std::string cgroup;
  std::string pid_file;
  uint32_t pid = 0;
  std::string proc_root = "/proc";
  std::string cgroup_root = "/sys/fs/cgroup";
};

/// What happened between two readings.
struct CpuWindow {
  base::Duration length{};
  double utilization = 0;      ///< Used of what was allowed; over 1 only by the clocks' grain.
  double used_cores = 0;       ///< Mean of the window.
  double allowed_cores = 0;    ///< By quota, processor set and machine; of a machine: not stolen.
  double throttled_ratio = 0;  ///< Of the quota's periods, those in which it was used up.
  double stalled_ratio = 0;    ///< Time in which some task waited for a processor (PSI).
  double stolen_ratio = 0;     ///< Of a machine's time, what the hypervisor gave to others.
};

enum class CpuErrc : uint8_t {
  kNoGroup,     ///< The process or its group is not there.
  kUnreadable,  ///< A file is missing or is not what it should be.
  kFirst,       ///< There is no earlier reading to compare with.
  kBackwards,   ///< A counter went back: another group took the name. The next window is good.
  kTooShort,    ///< Under 10 ms since the last reading; it stands.
};
inline constexpr size_t kCpuErrors = 5;

/// snake_case name, as in metrics.
[[nodiscard]] std::string_view to_string(CpuErrc error);

/// Reads a server's CPU use, of the machine or of a control group with its quota. The quota is read
/// again each time, along all groups above; the group is looked up again when it has gone, as after
/// a restart. Cost: a system call for each of up to a dozen small files of the kernel, which stay
/// open; some 50 us.
///
/// One thread.
class CpuReader {
 public:
  explicit CpuReader(CpuSettings settings);

  /// The window since the last reading that was good. An error leaves earlier readings alone but
  /// for kBackwards and a group that was found anew.
  [[nodiscard]] base::Result<CpuWindow, CpuErrc> read(base::Instant now);

  /// At the last reading; 0 before the first.
  [[nodiscard]] double allowed_cores() const { return last_ ? last_->allowed_cores : 0; }

  /// What was read last.
  [[nodiscard]] CpuForm form() const { return places_.form; }

 private:
  struct Places {
    CpuForm form = CpuForm::kHost;
    std::string usage;     ///< Folder of cpu.stat (version 2) or cpuacct.usage.
    std::string quota;     ///< Folder of cpu.max or cpu.cfs_quota_us.
    std::string top;       ///< Where the way up from `quota` ends.
    std::string cpuset;    ///< Folder; empty: none.
    std::string pressure;  ///< File; empty: none.
    bool found = false;
  };

  /// Of one group: cpu.max, or the two of version 1.
  struct QuotaFiles {
    KernelFile quota, period;
  };

  /// What is read each time, of the places found.
  struct Files {
    KernelFile machine;  ///< /proc/stat.
    KernelFile pressure, stat, usage, cpuset;
    std::vector<QuotaFiles> quotas;  ///< Of the group and those above it.
  };

  struct Reading {
    base::Instant at{};
    double used_s = 0;
    double given_s = 0;  ///< Of a machine; a group's is its cores times the window.
    double stolen_s = 0;
    double allowed_cores = 0;
    uint64_t periods = 0, throttled = 0;
    uint64_t stalled_us = 0;
  };

  [[nodiscard]] std::optional<std::string> process_groups() const;
  [[nodiscard]] std::string group_path(const std::string& groups,
                                       std::string_view controller) const;
  [[nodiscard]] std::string folder_of(const std::string& groups, std::string_view controller,
                                      std::initializer_list<std::string_view> mounts,
                                      std::string_view file, std::string& mount) const;
  [[nodiscard]] bool find_places();
  [[nodiscard]] bool find_v2(const std::string& groups, Places& out) const;
  [[nodiscard]] bool find_v1(const std::string& groups, Places& out) const;
  void open_files(const Places& places);
  [[nodiscard]] double quota_cores(CpuForm form);
  [[nodiscard]] double own_quota(CpuForm form, QuotaFiles& files);
  [[nodiscard]] uint64_t stalled_us();
  [[nodiscard]] bool read_used(Reading& out);
  [[nodiscard]] std::optional<uint32_t> group_cores();
  [[nodiscard]] std::optional<Reading> read_host();
  [[nodiscard]] std::optional<Reading> read_group();

  CpuSettings settings_;
  Places places_;
  Files files_;
  std::string scratch_;  ///< Of the file being read.
  std::optional<Reading> last_;
};

}  // namespace spillway::adapters
