#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "resilience/problem.h"

namespace spillway::resilience {

struct BrakeSettings {
  /// Share of a worker's time that refusing may take. Larger: callers hear "no" sooner, less is
  /// left for those who are served. [0.01, 1]; 1 never pauses.
  double share_max = 0.3;
  /// Least share of a period in which requests are read. Smaller: more is left for those who were
  /// read, callers wait longer. [0.01, 1].
  double reading_min = 0.1;
};

[[nodiscard]] std::vector<Problem> validate(const BrakeSettings& settings);

/// How long a worker that refuses requests should not read further ones, so that saying "no" does
/// not eat what those who are served need. Unread requests wait in the kernel; their senders feel
/// it.
///
/// Time is cut in periods, some 20 ms each. The share of a period in which requests are read is
/// scaled after each so that refusing comes to `share_max`, at most halved and at most raised by a
/// quarter; 1 is no pause. What refusing costs in full is thus found within a few periods, and
/// reading is back in full some ten periods after the last refusal.
///
/// One thread: one a worker. 50 bytes, no allocation.
class RefusalBrake {
 public:
  explicit RefusalBrake(const BrakeSettings& settings = {}) : settings_(settings) {}

  void set(const BrakeSettings& settings) { settings_ = settings; }

  /// A period of `length` is over in which refusing took `refusing`.
  void on_period(base::Duration length, base::Duration refusing);

  /// For how long not to read at the beginning of a next period of `length`: zero, or less than
  /// `length`.
  [[nodiscard]] base::Duration pause_of(base::Duration length) const;

  /// Share of a period in which requests are read now, (0, 1].
  [[nodiscard]] double reading() const { return reading_; }

  /// Nothing is refused and nothing held back: no period needs to be told until the next refusal.
  [[nodiscard]] bool at_rest() const { return at_rest_; }

 private:
  BrakeSettings settings_;
  double reading_ = 1;
  bool at_rest_ = true;
};

}  // namespace spillway::resilience
