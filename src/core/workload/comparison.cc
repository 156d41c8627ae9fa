#include "workload/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/rng.h"
#include "base/time.h"
#include "workload/latency_histogram.h"

namespace spillway::workload {

namespace {

enum class Good : uint8_t { kLow, kHigh, kNeither };

struct Kind {
  std::string_view name;
  Good good;
};

constexpr size_t kFigures = 7;
constexpr std::array<double, 4> kRatios = {0.5, 0.9, 0.99, 0.999};
constexpr std::array<Kind, kFigures> kKinds = {{{"p50_ms", Good::kLow},
                                                {"p90_ms", Good::kLow},
                                                {"p99_ms", Good::kLow},
                                                {"p999_ms", Good::kLow},
                                                {"error_ratio", Good::kLow},
                                                {"achieved_ratio", Good::kHigh},
                                                {"bid_ratio", Good::kNeither}}};

using Figures = std::array<double, kFigures>;

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Sums blocks and reads figures off the sum.
class Sum {
 public:
  void clear() {
    offered_ = ended_ = failed_ = bids_ = 0;
    counts_.fill(0);
  }

  void add(const RunBlock& block) {
    offered_ += block.offered;
    ended_ += block.ended;
    failed_ += block.failed;
    bids_ += block.bids;
    for (const auto& [bucket, count] : block.latency) {
      counts_[std::min<size_t>(bucket, counts_.size() - 1)] += count;
    }
  }

  [[nodiscard]] Figures figures() const {
    Figures out{};
    uint64_t total = 0;
    for (const uint64_t count : counts_) {
      total += count;
    }
    uint64_t seen = 0;
    size_t next = 0;
    for (size_t bucket = 0; bucket < counts_.size() && next < kRatios.size(); ++bucket) {
      seen += counts_[bucket];
      while (next < kRatios.size() && total > 0 && seen >= quantile_rank(kRatios[next], total)) {
        out[next++] = base::to_ms(LatencyBuckets::middle(bucket));
      }
    }
    out[4] = share(failed_, ended_);
    out[5] = share(ended_, offered_);
    out[6] = share(bids_, ended_);
    return out;
  }

 private:
  uint64_t offered_ = 0, ended_ = 0, failed_ = 0, bids_ = 0;
  std::array<uint64_t, LatencyBuckets::kCount> counts_{};
};

void join(RunBlock& into, const RunBlock& more) {
  into.offered += more.offered;
  into.ended += more.ended;
  into.failed += more.failed;
  into.bids += more.bids;
  into.latency.insert(into.latency.end(), more.latency.begin(), more.latency.end());
}

std::vector<RunBlock> joined(std::vector<RunBlock> blocks) {
  const size_t each = (blocks.size() + kBlocksMax - 1) / kBlocksMax;
  if (each <= 1) {
    return blocks;
  }
  std::vector<RunBlock> out;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i % each == 0) {
      out.push_back(std::move(blocks[i]));
    } else {
      join(out.back(), blocks[i]);
    }
  }
  return out;
}

Figures figures_of(const std::vector<RunBlock>& blocks, Sum& sum) {
  sum.clear();
  for (const RunBlock& block : blocks) {
    sum.add(block);
  }
  return sum.figures();
}

Figures resampled(const std::vector<RunBlock>& blocks, base::Rng& rng, Sum& sum) {
  sum.clear();
  for (size_t i = 0; i < blocks.size(); ++i) {
    sum.add(blocks[rng.below(blocks.size())]);
  }
  return sum.figures();
}

Verdict verdict_of(const Difference& difference, Good good) {
  if (good == Good::kNeither || (difference.low <= 0 && difference.high >= 0)) {
    return Verdict::kSame;
  }
  return (difference.low > 0) == (good == Good::kHigh) ? Verdict::kBetter : Verdict::kWorse;
}

}  // namespace

std::vector<Difference> compare_runs(std::vector<RunBlock> a, std::vector<RunBlock> b,
                                     const CompareSettings& settings) {
  SPILLWAY_ASSERT(a.size() >= kBlocksMin && b.size() >= kBlocksMin && settings.resamples > 0);
  a = joined(std::move(a));
  b = joined(std::move(b));
  Sum sum;
  const Figures of_a = figures_of(a, sum);
  const Figures of_b = figures_of(b, sum);
  base::Rng rng(settings.seed);
  std::array<std::vector<double>, kFigures> resamples;
  for (size_t i = 0; i < settings.resamples; ++i) {
    const Figures one = resampled(a, rng, sum);
    const Figures two = resampled(b, rng, sum);
    for (size_t figure = 0; figure < kFigures; ++figure) {
      resamples[figure].push_back(two[figure] - one[figure]);
    }
  }
  const double tail = (1 - settings.confidence) / 2 * static_cast<double>(settings.resamples - 1);
  const auto low_rank = static_cast<size_t>(std::floor(tail));
  std::vector<Difference> out;
  for (size_t figure = 0; figure < kFigures; ++figure) {
    std::vector<double>& values = resamples[figure];
    std::sort(values.begin(), values.end());
    Difference difference{.name = kKinds[figure].name,
                          .a = of_a[figure],
                          .b = of_b[figure],
                          .low = values[low_rank],
                          .high = values[values.size() - 1 - low_rank]};
    difference.verdict = verdict_of(difference, kKinds[figure].good);
    out.push_back(difference);
  }
  return out;
}

}  // namespace spillway::workload
