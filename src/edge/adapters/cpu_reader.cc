#include "adapters/cpu_reader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "adapters/cpu_text.h"
#include "base/result.h"
#include "base/time.h"

namespace spillway::adapters {
namespace {

constexpr base::Duration kShortest = std::chrono::milliseconds(10);

bool is_file(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

/// `root` + one of `names` + `path`, the first that is a folder with `file` in it.
std::string first_folder(const std::string& root, std::initializer_list<std::string_view> names,
                         const std::string& path, std::string_view file, std::string& mount) {
  for (const auto name : names) {
    mount = root + std::string(name);
    std::string folder = path == "/" ? mount : mount + path;
    if (is_file(folder + "/" + std::string(file))) {
      return folder;
    }
  }
  return {};
}

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double since(uint64_t later, uint64_t earlier) {
  return later > earlier ? static_cast<double>(later - earlier) : 0.0;
}

}  // namespace

std::string_view to_string(CpuForm form) {
  constexpr std::array<std::string_view, 3> kNames{"host", "cgroup_v2", "cgroup_v1"};
  return kNames.at(static_cast<size_t>(form));
}

std::string_view to_string(CpuErrc error) {
  constexpr std::array<std::string_view, kCpuErrors> kNames{"no_group", "unreadable", "first",
                                                            "backwards", "too_short"};
  return kNames.at(static_cast<size_t>(error));
}

CpuReader::CpuReader(CpuSettings settings) : settings_(std::move(settings)) {
  while (settings_.cgroup.size() > 1 && settings_.cgroup.ends_with('/')) {
    settings_.cgroup.pop_back();
  }
}

base::Result<CpuWindow, CpuErrc> CpuReader::read(base::Instant now) {
  if (!places_.found && !find_places()) {
    return std::unexpected(CpuErrc::kNoGroup);
  }
  if (last_ && now - last_->at < kShortest) {
    return std::unexpected(CpuErrc::kTooShort);
  }
  auto next = places_.form == CpuForm::kHost ? read_host() : read_group();
  if (!next) {
    // Gone with its process, perhaps: looked up again the next time.
    places_.found = places_.form == CpuForm::kHost;
    last_.reset();
    return std::unexpected(CpuErrc::kUnreadable);
  }
  next->at = now;
  const auto before = std::exchange(last_, next);
  if (!before) {
    return std::unexpected(CpuErrc::kFirst);
  }
  if (next->used_s < before->used_s) {
    return std::unexpected(CpuErrc::kBackwards);
  }
  const double length_s = std::chrono::duration<double>(now - before->at).count();
  const bool host = places_.form == CpuForm::kHost;
  const double given_s = host ? next->given_s - before->given_s : next->allowed_cores * length_s;
  const double used_s = next->used_s - before->used_s;
  const double stolen_s = std::max(0.0, next->stolen_s - before->stolen_s);
  if (given_s <= 0) {
    return std::unexpected(CpuErrc::kBackwards);
  }
  return CpuWindow{
      .length = now - before->at,
      .utilization = used_s / given_s,
      .used_cores = used_s / length_s,
      .allowed_cores = given_s / length_s,
      .throttled_ratio =
          ratio(since(next->throttled, before->throttled), since(next->periods, before->periods)),
      .stalled_ratio = std::min(1.0, since(next->stalled_us, before->stalled_us) / 1e6 / length_s),
      .stolen_ratio = ratio(stolen_s, given_s + stolen_s)};
}

// ---- where to read ----

std::optional<std::string> CpuReader::process_groups() const {
  uint32_t pid = settings_.pid;
  if (!settings_.pid_file.empty()) {
    const auto text = read_kernel_file(settings_.pid_file);
    const auto number = text ? parse_number(*text) : std::nullopt;
    if (!number || *number <= 0 || *number > std::numeric_limits<int32_t>::max()) {
      return std::nullopt;
    }
    pid = static_cast<uint32_t>(*number);
  }
  return read_kernel_file(settings_.proc_root + "/" + std::to_string(pid) + "/cgroup");
}

std::string CpuReader::group_path(const std::string& groups, std::string_view controller) const {
  return settings_.cgroup.empty() ? parse_group(groups, controller).value_or("") : settings_.cgroup;
}

bool CpuReader::find_places() {
  places_ = {};
  files_ = {};
  last_.reset();
  const bool names_group =
      !settings_.cgroup.empty() || !settings_.pid_file.empty() || settings_.pid != 0;
  if (settings_.source == CpuSource::kHost || !names_group) {
    places_.found = settings_.source != CpuSource::kCgroup;
    open_files(places_);
    return places_.found;
  }
  std::string groups;
  if (settings_.cgroup.empty()) {
    auto read = process_groups();
    if (!read) {
      return false;
    }
    groups = std::move(*read);
  }
  Places found;
  if (!find_v1(groups, found) && !find_v2(groups, found)) {
    return false;
  }
  open_files(found);
  if (settings_.source == CpuSource::kAuto && !std::isfinite(quota_cores(found.form))) {
    found = {};
    open_files(found);
  }
  places_ = std::move(found);
  places_.found = true;
  return true;
}

std::string CpuReader::folder_of(const std::string& groups, std::string_view controller,
                                 std::initializer_list<std::string_view> mounts,
                                 std::string_view file, std::string& mount) const {
  const auto path = group_path(groups, controller);
  if (path.empty()) {
    return {};
  }
  auto folder = first_folder(settings_.cgroup_root, mounts, path, file, mount);
  // In a container the path may be the machine's while the container's own group is mounted.
  return folder.empty() && settings_.cgroup.empty()
             ? first_folder(settings_.cgroup_root, mounts, "/", file, mount)
             : folder;
}

bool CpuReader::find_v2(const std::string& groups, Places& out) const {
  std::string mount;
  const auto folder = folder_of(groups, "", {"", "/unified"}, "cpu.stat", mount);
  if (folder.empty()) {
    return false;
  }
  out = {.form = CpuForm::kCgroupV2,
         .usage = folder,
         .quota = folder,
         .top = mount,
         .cpuset = folder,
         .pressure = folder + "/cpu.pressure"};
  return true;
}

bool CpuReader::find_v1(const std::string& groups, Places& out) const {
  std::string mount;
  const auto usage = folder_of(groups, "cpuacct", {"/cpuacct", "/cpu,cpuacct", "/cpuacct,cpu"},
                               "cpuacct.usage", mount);
  const auto set = folder_of(groups, "cpuset", {"/cpuset"}, "cpuset.effective_cpus", mount);
  // Both versions may be mounted; only the second knows pressure.
  const auto second = folder_of(groups, "", {"/unified"}, "cpu.pressure", mount);
  const auto quota =
      folder_of(groups, "cpu", {"/cpu", "/cpu,cpuacct", "/cpuacct,cpu"}, "cpu.stat", mount);
  if (usage.empty() || quota.empty()) {
    return false;
  }
  out = {.form = CpuForm::kCgroupV1,
         .usage = usage,
         .quota = quota,
         .top = mount,
         .cpuset = set,
         .pressure = second.empty() ? second : second + "/cpu.pressure"};
  return true;
}

// ---- what to read ----

void CpuReader::open_files(const Places& places) {
  files_ = {};
  files_.machine = KernelFile(settings_.proc_root + "/stat");
  if (places.form == CpuForm::kHost) {
    files_.pressure = KernelFile(settings_.proc_root + "/pressure/cpu");
    return;
  }
  const bool v2 = places.form == CpuForm::kCgroupV2;
  files_.stat = KernelFile(places.quota + "/cpu.stat");
  files_.pressure = KernelFile(places.pressure);
  if (!v2) {
    files_.usage = KernelFile(places.usage + "/cpuacct.usage");
  }
  if (!places.cpuset.empty()) {
    files_.cpuset =
        KernelFile(places.cpuset + (v2 ? "/cpuset.cpus.effective" : "/cpuset.effective_cpus"));
  }
  for (std::string folder = places.quota; folder.size() >= places.top.size();) {
    files_.quotas.push_back(
        {.quota = KernelFile(folder + (v2 ? "/cpu.max" : "/cpu.cfs_quota_us")),
         .period = KernelFile(v2 ? std::string() : folder + "/cpu.cfs_period_us")});
    if (folder.size() == places.top.size()) {
      break;
    }
    folder.resize(folder.rfind('/'));
  }
}

/// Of one group; infinity when it has none.
double CpuReader::own_quota(CpuForm form, QuotaFiles& files) {
  const auto text = files.quota.read(scratch_);
  if (!text) {
    return kNoQuota;
  }
  if (form == CpuForm::kCgroupV2) {
    return parse_cpu_max(*text).value_or(kNoQuota);
  }
  const auto quota = parse_number(*text);
  if (!quota || *quota <= 0) {
    return kNoQuota;
  }
  const auto period_text = files.period.read(scratch_);
  const auto period = period_text ? parse_number(*period_text) : std::nullopt;
  return period && *period > 0 ? static_cast<double>(*quota) / static_cast<double>(*period)
                               : kNoQuota;
}

double CpuReader::quota_cores(CpuForm form) {
  double cores = kNoQuota;
  for (auto& files : files_.quotas) {
    cores = std::min(cores, own_quota(form, files));
  }
  return cores;
}

uint64_t CpuReader::stalled_us() {
  const auto text = files_.pressure.read(scratch_);
  return text ? parse_pressure(*text).value_or(0) : 0;
}

std::optional<CpuReader::Reading> CpuReader::read_host() {
  const auto text = files_.machine.read(scratch_);
  const auto ticks = text ? parse_proc_stat(*text) : std::nullopt;
  if (!ticks) {
    return std::nullopt;
  }
  const auto ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  Reading out;
  out.used_s = static_cast<double>(ticks->used) / ticks_per_s;
  out.given_s = static_cast<double>(ticks->used + ticks->idle) / ticks_per_s;
  out.stolen_s = static_cast<double>(ticks->stolen) / ticks_per_s;
  out.allowed_cores = ticks->cores;
  out.stalled_us = stalled_us();
  return out;
}

/// What cpu.stat and, in version 1, cpuacct.usage say.
bool CpuReader::read_used(Reading& out) {
  const bool v2 = places_.form == CpuForm::kCgroupV2;
  std::optional<uint64_t> usage_us;
  if (const auto stat = files_.stat.read(scratch_)) {
    out.periods = parse_keyed(*stat, "nr_periods").value_or(0);
    out.throttled = parse_keyed(*stat, "nr_throttled").value_or(0);
    usage_us = parse_keyed(*stat, "usage_usec");
  }
  if (v2) {
    out.used_s = static_cast<double>(usage_us.value_or(0)) / 1e6;
    return usage_us.has_value();
  }
  const auto text = files_.usage.read(scratch_);
  const auto usage_ns = text ? parse_number(*text) : std::nullopt;
  out.used_s = static_cast<double>(usage_ns.value_or(0)) / 1e9;
  return usage_ns && *usage_ns >= 0;
}

/// By the group's processor set, else the machine's.
std::optional<uint32_t> CpuReader::group_cores() {
  if (const auto set = files_.cpuset.read(scratch_)) {
    if (const auto cores = parse_cpu_list(*set)) {
      return cores;
    }
  }
  const auto text = files_.machine.read(scratch_);
  const auto ticks = text ? parse_proc_stat(*text) : std::nullopt;
  return ticks ? std::optional(ticks->cores) : std::nullopt;
}

std::optional<CpuReader::Reading> CpuReader::read_group() {
  Reading out;
  if (!read_used(out)) {
    return std::nullopt;
  }
  const auto cores = group_cores();
  if (!cores) {
    return std::nullopt;
  }
  out.allowed_cores = std::min(quota_cores(places_.form), static_cast<double>(*cores));
  out.stalled_us = stalled_us();
  return out;
}

}  // namespace spillway::adapters
