#pragma once

#include <string>
#include <vector>

#include "app/load/load_run.h"
#include "workload/gates.h"

namespace spillway::app {

/// The run as one page that needs nothing else: what was not sent first, tables, and plots over
/// time as inline SVG (latency percentiles, rate offered and achieved, errors). The intervals in
/// which the generator was the bottleneck are shaded. Light and dark as the reader's system is.
[[nodiscard]] std::string report_html(const RunSummary& run, const std::string& title,
                                      const std::vector<workload::GateResult>& gates);

}  // namespace spillway::app
