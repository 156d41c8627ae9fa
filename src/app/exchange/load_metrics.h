#pragma once

#include "app/exchange/metrics.h"
#include "observe/metrics_page.h"

namespace spillway::app {

/// What is in work, what was shed and how long it took.
void write_load(const MetricSources& sources, observe::MetricsPage& page);

}  // namespace spillway::app
