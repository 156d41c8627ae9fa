#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "resilience/log_buckets.h"

namespace spillway::resilience {

/// A histogram whose counts fade. One thread; 670 bytes.
class FadingHistogram {
 public:
  void add(size_t bucket, uint32_t count);
  void fade(double keep);

  /// Value below which `ratio` of the weight lies, linear inside a bucket; zero when empty.
  [[nodiscard]] base::Duration quantile(double ratio) const;

  [[nodiscard]] double weight() const { return weight_; }

 private:
  std::array<float, LogBuckets::kCount> counts_{};
  double weight_ = 0;
};

/// The usual latency of a dependency, and the budget it is usually given: what makes blame fair.
///
/// p50 and p90 follow the last two minutes or so (time constant 120 s) by at most 10 % a minute,
/// and not at all while the dependency does worse than usual: an incident does not become normal.
/// The first 200 latencies move them freely. The median budget forgets with 10 min.
///
/// One thread. Source: shared notes on resilience 3.0; DESIGN 3.
class LatencyBaseline {
 public:
  static constexpr double kKnownAfter = 50;

  void add_latency(size_t bucket, uint32_t count);
  void add_offered(size_t bucket, uint32_t count);

  /// Answers and silent calls (timed out, nothing came) since the last call. Keeps the streak of
  /// silent calls that tells a hang from a short budget while nothing is known.
  void note_silence(base::Instant now, uint64_t answers, uint64_t silent);

  /// Once a second or so. `healthy`: the recent bad share is no more than the usual one.
  void update(base::Instant now, bool healthy);

  [[nodiscard]] bool known() const { return known_; }

  /// The last 20 calls and the last second were silent, late answers included.
  [[nodiscard]] bool hanging() const { return hanging_; }

  /// Zero until known.
  [[nodiscard]] base::Duration p50() const { return known_ ? p50_ : base::Duration{}; }

  [[nodiscard]] base::Duration p90() const { return known_ ? p90_ : base::Duration{}; }

  [[nodiscard]] base::Duration median_offered() const { return median_offered_; }

  /// min(1.2 p90, 0.9 median budget). While unknown 100 ms, and 0 once the last 20 calls and the
  /// last second were silent.
  [[nodiscard]] base::Duration fair() const;

 private:
  FadingHistogram latencies_;
  FadingHistogram offered_;
  bool known_ = false;
  double seen_ = 0;
  base::Duration p50_{};
  base::Duration p90_{};
  base::Duration median_offered_{};
  base::Instant last_update_{};
  uint64_t silent_ = 0;
  base::Instant silent_since_{};
  bool hanging_ = false;
};

}  // namespace spillway::resilience
