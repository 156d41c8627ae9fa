#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spillway::adapters {

/// First `limit_bytes` of a file; nothing when it cannot be read. Small files of the kernel only.
[[nodiscard]] std::optional<std::string> read_kernel_file(const std::string& path,
                                                          size_t limit_bytes = size_t{64} << 10);

/// The "cpu" line of /proc/stat summed, in clock ticks.
struct HostTicks {
  uint64_t used = 0;    ///< user, nice, system, irq, softirq; guests are inside user and nice.
  uint64_t idle = 0;    ///< idle and iowait.
  uint64_t stolen = 0;  ///< By the hypervisor for other guests.
  uint32_t cores = 0;   ///< Online: lines "cpu0", "cpu1", ...
};

/// Source: proc(5), /proc/stat.
[[nodiscard]] std::optional<HostTicks> parse_proc_stat(std::string_view text);

/// The number behind `key` at the beginning of a line, as in cpu.stat.
[[nodiscard]] std::optional<uint64_t> parse_keyed(std::string_view text, std::string_view key);

/// A whole file that is one number, as cpuacct.usage; "-1" is a number too.
[[nodiscard]] std::optional<int64_t> parse_number(std::string_view text);

/// cpu.max: "20000 50000" as 0.4 cores, "max 100000" as infinity. Nothing when it is neither.
/// Source: Linux Documentation/admin-guide/cgroup-v2.rst.
[[nodiscard]] std::optional<double> parse_cpu_max(std::string_view text);

/// Processors of a list such as "0-3,8".
[[nodiscard]] std::optional<uint32_t> parse_cpu_list(std::string_view text);

/// Microseconds of "some ... total=N" of cpu.pressure.
/// Source: Linux Documentation/accounting/psi.rst.
[[nodiscard]] std::optional<uint64_t> parse_pressure(std::string_view text);

/// Path of a process's group in /proc/PID/cgroup: with the version 1 controller `controller`, or of
/// version 2 when that is empty.
[[nodiscard]] std::optional<std::string> parse_group(std::string_view text,
                                                     std::string_view controller);

}  // namespace spillway::adapters
