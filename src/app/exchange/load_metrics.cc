#include "app/exchange/load_metrics.h"

#include <cstddef>
#include <memory>
#include <string_view>

#include "app/exchange/metric_sums.h"
#include "app/exchange/metrics.h"
#include "app/exchange/stats.h"
#include "base/histogram.h"
#include "observe/metrics_page.h"
#include "resilience/shedder.h"

namespace spillway::app {

using observe::MetricsPage;

namespace {

std::string_view reason_name(size_t reason) {
  return reason == WorkerStats::kShedForMemory
             ? "memory"
             : to_string(static_cast<resilience::ShedReason>(reason));
}

std::string_view priority_name(size_t priority) {
  return priority == WorkerStats::kShedUnread
             ? "unread"
             : to_string(static_cast<resilience::Criticality>(priority));
}

void write_shed_of(const MetricSources& sources, size_t level, size_t reason, size_t priority,
                   MetricsPage& page) {
  page.counter("spillway_exchange_shed_total", "Auctions shed, by level, reason and priority.",
               {{"level", level == 0 ? "1" : "2"},
                {"reason", reason_name(reason)},
                {"priority", priority_name(priority)}},
               sum(sources, [=](auto& s) -> auto& { return s.shed[level][reason][priority]; }));
}

void write_shed(const MetricSources& sources, MetricsPage& page) {
  for (size_t level = 0; level < 2; ++level) {
    for (size_t reason = 1; reason <= WorkerStats::kShedForMemory; ++reason) {
      for (size_t priority = 0; priority <= WorkerStats::kShedUnread; ++priority) {
        write_shed_of(sources, level, reason, priority, page);
      }
    }
  }
  page.counter("spillway_exchange_refusing_microseconds_total",
               "Time spent on requests that were shed, their reading and answering included.", {},
               server_sum(sources, [](auto& c) -> auto& { return c.refusing_ns; }) / 1'000);
}

}  // namespace

void write_load(const MetricSources& sources, MetricsPage& page) {
  page.gauge("spillway_exchange_in_flight_auctions", "Auctions not answered yet.", {},
             static_cast<double>(sum(sources, [](auto& s) -> auto& { return s.in_flight; })));
  page.gauge("spillway_exchange_open_calls", "Calls to DSPs under way, late ones included.", {},
             static_cast<double>(sum(sources, [](auto& s) -> auto& { return s.calls_open; })));
  write_shed(sources, page);
  page.counter("spillway_exchange_callers_gone_total", "Callers that left before their answer.", {},
               sum(sources, [](auto& s) -> auto& { return s.callers_gone; }));
  page.counter("spillway_exchange_not_found_total", "Requests for another path.", {},
               sum(sources, [](auto& s) -> auto& { return s.not_found; }));
  page.counter("spillway_exchange_wrong_method_total", "Requests by another method.", {},
               sum(sources, [](auto& s) -> auto& { return s.wrong_method; }));
  auto queue_age = std::make_unique<base::Histogram>();
  auto answer_time = std::make_unique<base::Histogram>();
  for (const auto& worker : sources.workers) {
    queue_age->merge(worker->stats().queue_age);
    answer_time->merge(worker->stats().answer_time);
  }
  page.latency("spillway_exchange_queue_age_seconds",
               "Time a request waited to be read, pauses of reads not counted.", {}, *queue_age);
  page.latency("spillway_exchange_answer_time_seconds", "Time from time zero to the answer.", {},
               *answer_time);
  page.counter("spillway_exchange_deadline_misses_total",
               "Answers whose last byte left after time zero plus tmax. Must stay 0.", {},
               server_sum(sources, [](auto& c) -> auto& { return c.deadline_misses; }));
}

}  // namespace spillway::app
