#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::adapters {

/// One number for CloudWatch.
struct EmfMetric {
  std::string_view name;
  std::string_view unit;  ///< Of CloudWatch: "Percent", "Count", "Count/Second", "Seconds", "None".
  double value = 0;
};

struct EmfRecord {
  std::string_view name_space;
  std::string_view service, zone, instance;  ///< The dimensions.
  int64_t wall_ms = 0;
  std::vector<EmfMetric> metrics;  ///< At most 100, as CloudWatch takes.
};

/// One line of JSON, without its end: CloudWatch makes metrics of it when it comes through its
/// logs. Dimensions: [Service, Zone], for autoscaling, and [Service, Zone, Instance]. What is not
/// finite is left out.
/// Source: Amazon CloudWatch, "Embedded metric format" specification.
[[nodiscard]] std::string emf_line(const EmfRecord& record);

}  // namespace spillway::adapters
