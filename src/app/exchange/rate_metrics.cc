#include "app/exchange/rate_metrics.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "app/exchange/rate_source.h"
#include "observe/metrics_page.h"

namespace spillway::app {

void write_rates(const RateFetches& fetches, double age_s, observe::MetricsPage& page) {
  page.gauge("spillway_exchange_currency_rates_age_seconds",
             "Age of the exchange rates by their own as_of; -1 without rates.", {}, age_s);
  const std::pair<std::string_view, uint64_t> ends[] = {{"taken", fetches.taken},
                                                        {"unchanged", fetches.unchanged},
                                                        {"failed", fetches.failed},
                                                        {"refused", fetches.refused},
                                                        {"skipped", fetches.skipped}};
  for (const auto& [end, count] : ends) {
    page.counter("spillway_exchange_currency_fetches_total",
                 "Attempts to fetch exchange rates, by what they came to.", {{"end", end}}, count);
  }
}

}  // namespace spillway::app
