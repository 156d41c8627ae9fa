#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace spillway::capacity {

struct Sample;

/// What a server measured of itself over the last window.
struct Reading {
  double utilization = 0;  ///< CPU used of what may be used, quota and steal subtracted. 0 to 1.
  double successes_per_second = 0;  ///< Answered well and in time.
  double requests_per_second = 0;   ///< All that came.
  double failures_per_second =
      0;                         ///< Answered badly or too late; refusals by overload are neither.
  double throttled_share = 0;    ///< Of the scheduler's periods in the window, 0 to 1.
  double pressure = 0;           ///< PSI of the CPU, "some", 0 to 1.
  double p95_ms = 0;             ///< Of the answers; 0: not known.
  base::Duration window{};       ///< Measured, not planned.
  base::Duration serving_for{};  ///< Since it began to serve.
  bool sensor_alive = true;      ///< False: the CPU could not be read.
  bool counts_successes = true;  ///< False: nobody tells how many; CPU alone steers.
};

/// The same with every number in its range: what is not a number is 0, and of the utilization means
/// a dead sensor.
[[nodiscard]] Reading sound(const Reading& reading);

/// What a recorded sample was made of: what sound() made, in a published sample.
[[nodiscard]] Reading reading_of(const Sample& sample);

/// What acted in a decision. Values are stable: they are metric labels' order.
enum class Reason : uint8_t {
  kNoPeers,         ///< Nobody heard and the last mean too old: the weight is held.
  kRememberedMean,  ///< Nobody heard: the zone's last mean is used.
  kSensorDead,      ///< Not alive, or not a number: the class's prior instead.
  kSensorStuck,     ///< The same number to the last bit while the traffic moves: the same.
  kColdReading,     ///< Too little load, too short a window, too young: the estimate is kept.
  kAboveClass,      ///< Capacity read above the class's band: a lie, rejected.
  kBelowClass,      ///< Below it: counted as the band's lower end.
  kLying,           ///< CPU low while throttling, pressure or latency say busy: rejected.
  kBoost,           ///< Two errors to the same side: estimated faster.
  kPrior,           ///< No estimate of its own yet: the class's, or the zone's mean.
  kFailing,         ///< Fails more than its peers: least weight.
  kSharedFailure,   ///< Fails, and so do its peers: no reason to shift traffic.
  kPriorClamp,      ///< Limited to the class's band of weights.
  kRangeClamp,      ///< Limited to min_weight or max_weight.
  kTopAnchor,       ///< All scaled down so that the largest fits.
  kStepLimit,       ///< Not there yet: limited by max_step.
  kRamp,            ///< A newcomer's growing share.
  kWarming,
  kDraining,
  kFrozen,
  kPinned,
  kGainLimited,  ///< The measured delay allows less gain than set.
  kCpuOnly,      ///< No count of successes: the delay-compensated law on CPU alone.
};
inline constexpr size_t kReasons = 23;

/// "no_peers", …: snake_case, as in metrics and logs.
[[nodiscard]] std::string_view to_string(Reason reason);

/// A set of them.
class Reasons {
 public:
  void add(Reason reason) { bits_ |= 1U << static_cast<unsigned>(reason); }

  [[nodiscard]] bool has(Reason reason) const {
    return (bits_ >> static_cast<unsigned>(reason) & 1U) != 0;
  }

  [[nodiscard]] bool empty() const { return bits_ == 0; }

  [[nodiscard]] uint32_t bits() const { return bits_; }

  friend bool operator==(Reasons, Reasons) = default;

 private:
  uint32_t bits_ = 0;
};

/// "ramp,step_limit"; empty for none.
[[nodiscard]] std::string to_string(Reasons reasons);

}  // namespace spillway::capacity
