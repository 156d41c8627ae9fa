#pragma once

#include "app/exchange/rate_source.h"
#include "observe/metrics_page.h"

namespace spillway::app {

/// Exchange rates: `age_s` by their own word, -1 without any.
void write_rates(const RateFetches& fetches, double age_s, observe::MetricsPage& page);

}  // namespace spillway::app
