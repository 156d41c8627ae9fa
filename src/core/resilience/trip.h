#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "resilience/window.h"

namespace spillway::resilience {

/// The bad share a healthy dependency is used to: b. Ratio of two sums that fade with a time
/// constant of 10 min, clamped to [0.1 %, 25 %]; starts at 2 %.
///
/// Fed with what slid out of the slow window of a closed breaker, so the calls of an incident that
/// tripped never enter.
class BadRatioBaseline {
 public:
  void learn(base::Instant now, const Tally& tally);
  [[nodiscard]] double ratio() const;

  /// Trip threshold theta = max(0.3, 2 b).
  [[nodiscard]] double threshold() const;

  /// Shortest run of bad calls that trips: clamp(ceil(ln 1e-6 / ln b), 4, 12).
  [[nodiscard]] uint32_t run_length() const;

 private:
  double bad_ = 0.4;
  double calls_ = 20.0;
  base::Instant last_{};
};

/// A bad call as the run rule sees it.
struct BadCall {
  base::Instant started{};
  base::Instant ended{};
  bool overload = false;
};

/// The bad and overload calls since the last good one, no older than 10 s. At most 64 kept, the
/// newest.
class BadRun {
 public:
  static constexpr base::Duration kMaxAge = std::chrono::seconds(10);
  static constexpr size_t kCapacity = 64;

  /// `bads` in any order; a bad that ended at or before `last_good` is not of the run.
  void advance(base::Instant now, std::span<const BadCall> bads, base::Instant last_good);
  void clear();

  /// At least `length` bad calls, at least two of them begun after the first had returned: two
  /// rounds. One burst of parallel calls that meets one fault is one event. Four
  /// overloads count as one bad call. `overdue`: calls in flight past their slow line, by when they
  /// passed it; those that did so after the last good call are of the run.
  [[nodiscard]] bool trips(uint32_t length, std::span<const BadCall> overdue = {}) const;

  [[nodiscard]] size_t size() const { return calls_.size(); }

  /// Of these, the ones that are no overload.
  [[nodiscard]] size_t bad() const;

 private:
  std::vector<BadCall> calls_;  ///< By end.
  base::Instant last_good_ = base::Instant::min();
};

/// R1: n >= 20 in 2 s, at least half of them bad, and LB(bad) >= theta. R2: n >= 5 in 10 s and
/// LB(bad) >= theta. LB is Wilson's lower bound at z = 3. Both want the bad calls spread over more
/// than one burst.
[[nodiscard]] bool r1_fast(const Evidence& fast, double threshold);
[[nodiscard]] bool r2_slow(const Evidence& slow, double threshold);

/// Deviations used by every trip rule.
inline constexpr double kTripZ = 3.0;
/// Calls in the fast window from which R1 judges and R3 does not.
inline constexpr uint64_t kFastCalls = 20;
inline constexpr uint64_t kSlowCalls = 5;

}  // namespace spillway::resilience
