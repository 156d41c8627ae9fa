#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway::workload {

/// One stretch of a run, as a comparison needs it.
struct RunBlock {
  uint64_t offered = 0, ended = 0, failed = 0, bids = 0;
  std::vector<std::pair<uint32_t, uint32_t>> latency{};  ///< LatencyBuckets index, count.
};

struct CompareSettings {
  size_t resamples = 2000;
  double confidence = 0.99;  ///< Of each interval.
  uint64_t seed = 1;
};

enum class Verdict : uint8_t { kSame, kBetter, kWorse };

/// A figure of two runs and what its difference may be.
struct Difference {
  std::string_view name;
  double a = 0;
  double b = 0;
  double low = 0;  ///< Of b - a.
  double high = 0;
  Verdict verdict = Verdict::kSame;  ///< Of b; kSame: the interval holds zero.
};

/// A run with fewer blocks says nothing about its own spread.
inline constexpr size_t kBlocksMin = 5;

/// Longer runs have neighbouring blocks joined down to this many.
inline constexpr size_t kBlocksMax = 60;

/// What changed from run a to run b: p50, p90, p99, p999 (ms), error_ratio, achieved_ratio,
/// bid_ratio (which has no better). Bootstrap by blocks, because neighbouring requests share their
/// server's mood: both runs' blocks are drawn with replacement, and the middle `confidence` of the
/// resampled differences is the interval. Requires kBlocksMin blocks each. Cost: resamples times
/// the filled buckets of all blocks, some 50 ms.
///
/// Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, 8.6 and 13.3.
[[nodiscard]] std::vector<Difference> compare_runs(std::vector<RunBlock> a, std::vector<RunBlock> b,
                                                   const CompareSettings& settings);

}  // namespace spillway::workload
