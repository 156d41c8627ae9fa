#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spillway::workload {

/// What is wrong with a text of lines.
struct LineProblem {
  int line = 0;  ///< From 1; 0 when it is the whole text.
  std::string what;
};

/// How many arrivals a second are asked for over time: straight pieces between points, with jumps
/// where two points share a time. Immutable, any thread. Memory: 32 bytes a point.
class RateProfile {
 public:
  struct Point {
    base::Duration at{};  ///< From the start.
    double rate = 0;      ///< Arrivals a second, [0, kRateMax].
  };

  static constexpr double kRateMax = 1e6;
  static constexpr size_t kPointsMax = 100'000;

  /// Nothing is ever due.
  RateProfile() = default;

  [[nodiscard]] static RateProfile constant(double rate, base::Duration duration);
  [[nodiscard]] static RateProfile ramp(double from, double to, base::Duration duration);
  /// `from` until `at`, `to` from then on.
  [[nodiscard]] static RateProfile step(double from, double to, base::Duration at,
                                        base::Duration duration);

  /// A trace: lines "seconds,rate" with seconds rising from 0; blank lines and lines that start
  /// with # are skipped. Its time runs `time_scale` times as fast; rates stay.
  [[nodiscard]] static base::Result<RateProfile, LineProblem> parse_trace(std::string_view text,
                                                                          double time_scale);

  [[nodiscard]] base::Duration duration() const;
  [[nodiscard]] double peak_rate() const;
  [[nodiscard]] double mean_rate() const;

  /// Arrivals due in the whole; the expectation of a random schedule.
  [[nodiscard]] double expected() const { return counts_.empty() ? 0 : counts_.back(); }

  /// How many are due before `at`, with fractions.
  [[nodiscard]] double count_before(base::Duration at) const;

  /// When the count reaches `count`, in [0, expected()]. Cost: a binary search over the points.
  [[nodiscard]] base::Duration when(double count) const;

 private:
  explicit RateProfile(std::vector<Point> points);

  std::vector<Point> points_;
  std::vector<double> counts_;  ///< Due before each point.
};

}  // namespace spillway::workload
