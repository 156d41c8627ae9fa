#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "capacity/forecast.h"
#include "capacity/sample.h"

namespace spillway::app {

struct BalanceReport {
  capacity::Forecast forecast;
  capacity::ForecastSettings settings;
  size_t samples = 0;
  size_t bad_lines = 0;
  double price_per_hour = 0;  ///< Of one instance; 0: money is not spoken of.
};

/// Whole instances.
[[nodiscard]] uint64_t instances(double needed);

/// What the law saves in a month of 730 hours; negative when it costs.
[[nodiscard]] double saved_per_month(const BalanceReport& report);

/// A table for people: what was observed beside what is predicted.
[[nodiscard]] std::string report_text(const BalanceReport& report);

/// The same as one JSON object.
[[nodiscard]] std::string report_json(const BalanceReport& report);

/// Utilization over time, observed above predicted: the band of all servers and their mean. An SVG
/// of at most about 100 KiB.
[[nodiscard]] std::string report_svg(const BalanceReport& report);

/// How many of the recorded decisions the law takes again to the last bit.
struct Verified {
  size_t same = 0;
  size_t all = 0;
  std::string first_other;  ///< "s7 sequence 12: recorded 99.5, decided 98.25".
};

[[nodiscard]] Verified verify(std::span<const capacity::Sample> recorded,
                              const capacity::ForecastSettings& settings);

}  // namespace spillway::app
