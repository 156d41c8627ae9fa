#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "resilience/window.h"

namespace spillway::resilience {

/// The way back to full traffic: 5, 10, 20, 35, 60, 100 % of the calls, a sixth of `ramp` each.
///
/// At the end of a step whose bad share is above (b + theta)/2 (with 1.5 standard deviations of
/// doubt in its favour: a step of five calls proves little) it holds; the second time in a row it
/// goes down a step. Ten calls with LB(bad) >= theta end it at once. 100 % held for a step is
/// the way to closed. One thread.
class Ramp {
 public:
  static constexpr std::array<double, 6> kSteps{0.05, 0.10, 0.20, 0.35, 0.60, 1.0};

  enum class Says : uint8_t { kGoOn, kClose, kReopen };

  void start(base::Instant now);

  /// `settled`: calls settled since the last call. `usual` and `threshold`: b and theta.
  Says advance(base::Instant now, base::Duration ramp, const Tally& settled, double usual,
               double threshold);

  [[nodiscard]] double ratio() const { return kSteps[step_]; }

  [[nodiscard]] const Tally& step_tally() const { return tally_; }

 private:
  size_t step_ = 0;
  bool held_ = false;
  base::Instant step_start_{};
  Tally tally_;
};

}  // namespace spillway::resilience
