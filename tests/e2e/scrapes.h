#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/core.h>
#include <sys/types.h>

namespace spillway::e2e {

/// Series of a metrics page, labels as written there, and their values.
using Metrics = std::map<std::string, double>;

/// Sum of the series of `name` whose labels contain all of `parts`.
[[nodiscard]] inline double sum_of(const Metrics& metrics, std::string_view name,
                                   const std::vector<std::string>& parts = {}) {
  double sum = 0;
  for (const auto& [series, value] : metrics) {
    const bool named =
        series.starts_with(name) && (series.size() == name.size() || series[name.size()] == '{');
    if (named && std::ranges::all_of(parts, [&](const auto& part) {
          return series.find(part) != std::string::npos;
        })) {
      sum += value;
    }
  }
  return sum;
}

/// The bound of `…_bucket{labels,le="…"}`; NaN for another line.
[[nodiscard]] inline double bound_of(std::string_view series, std::string_view bucket,
                                     std::string_view label) {
  if (!series.starts_with(bucket) || !series.contains(label)) {
    return NAN;
  }
  const size_t at = series.find("le=\"");
  const std::string text(series.substr(at + 4, series.find('"', at + 4) - at - 4));
  return text == "+Inf" ? INFINITY : std::strtod(text.c_str(), nullptr);
}

/// Seconds below which `ratio` of the samples of a histogram lie that came between two scrapes;
/// straight lines within buckets.
[[nodiscard]] inline double quantile_between(const Metrics& before, const Metrics& after,
                                             std::string_view name, std::string_view label,
                                             double ratio) {
  const std::string bucket = std::string(name) + "_bucket{";
  std::map<double, double> counts;  // by bound, cumulative
  for (const auto& [series, value] : after) {
    const double bound = bound_of(series, bucket, label);
    if (!std::isnan(bound)) {
      const auto old = before.find(series);
      counts[bound] += value - (old == before.end() ? 0 : old->second);
    }
  }
  if (counts.empty() || counts.rbegin()->second <= 0) {
    return 0;
  }
  const double wanted = ratio * counts.rbegin()->second;
  double low = 0;
  double seen = 0;
  for (const auto& [bound, count] : counts) {
    if (count >= wanted) {
      return std::isinf(bound) ? low : low + (bound - low) * (wanted - seen) / (count - seen);
    }
    low = bound;
    seen = count;
  }
  return low;
}

/// How long the threads of a process waited for a processor, by the kernel's own account. Where
/// the kernel keeps none it is always 0.
class ProcessorWaits {
 public:
  explicit ProcessorWaits(pid_t pid) : tasks_(fmt::format("/proc/{}/task", pid)) {}

  /// The most that one thread waited since the last call.
  std::chrono::nanoseconds longest() {
    int64_t longest = 0;
    std::error_code ignored;
    for (const auto& task : std::filesystem::directory_iterator(tasks_, ignored)) {
      std::ifstream account(task.path() / "schedstat");
      int64_t ran = 0;
      int64_t waited = 0;
      account >> ran >> waited;
      auto& last = waited_ns_[task.path().filename()];
      longest = std::max(longest, waited - last);
      last = waited;
    }
    return std::chrono::nanoseconds(longest);
  }

 private:
  std::string tasks_;
  std::map<std::string, int64_t> waited_ns_;  ///< By thread.
};

}  // namespace spillway::e2e
