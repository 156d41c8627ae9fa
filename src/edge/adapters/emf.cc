#include "adapters/emf.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "openrtb/document.h"

namespace spillway::adapters {
namespace {

constexpr size_t kMostMetrics = 100;

}  // namespace

std::string emf_line(const EmfRecord& record) {
  std::string declared;
  std::string values;
  size_t count = 0;
  for (const auto& metric : record.metrics) {
    if (!std::isfinite(metric.value) || count == kMostMetrics) {
      continue;
    }
    ++count;
    const auto name = openrtb::json_string(metric.name);
    declared += fmt::format(R"({}{{"Name":{},"Unit":{}}})", declared.empty() ? "" : ",", name,
                            openrtb::json_string(metric.unit));
    values += fmt::format(",{}:{}", name, metric.value);
  }
  return fmt::format(
      R"({{"_aws":{{"Timestamp":{},"CloudWatchMetrics":[{{"Namespace":{},)"
      R"("Dimensions":[["Service","Zone"],["Service","Zone","Instance"]],"Metrics":[{}]}}]}},)"
      R"("Service":{},"Zone":{},"Instance":{}{}}})",
      record.wall_ms, openrtb::json_string(record.name_space), declared,
      openrtb::json_string(record.service), openrtb::json_string(record.zone),
      openrtb::json_string(record.instance), values);
}

}  // namespace spillway::adapters
