#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::app {

/// What a run of the demo does when. Times are seconds from the start of the load.
struct DemoPlan {
  static constexpr uint32_t kSecondsMin = 30;    ///< Less leaves no time to close again.
  static constexpr uint32_t kSecondsFull = 120;  ///< From here on guards keep their own times.

  uint32_t seconds = kSecondsFull;
  double rate = 300;
  std::string slow_dsp = "delta";

  [[nodiscard]] double slow_from() const { return seconds / 3.0; }

  [[nodiscard]] double slow_to() const { return seconds / 2.0; }

  [[nodiscard]] bool shortened() const { return seconds < kSecondsFull; }

  /// "open 5-20 s, ramp 30 s"
  [[nodiscard]] std::string guard_times() const;

  /// The farm's YAML: five DSPs on free ports.
  [[nodiscard]] static std::string farm_yaml();

  /// The body of the farm's fault call that makes the slow DSP slow for its time.
  [[nodiscard]] std::string fault_json() const;

  struct DspAddress {
    std::string name;
    std::string listen;  ///< "127.0.0.1:41234"
  };

  /// The exchange's YAML for DSPs that listen there.
  [[nodiscard]] std::string exchange_yaml(const std::vector<DspAddress>& dsps) const;
};

}  // namespace spillway::app
