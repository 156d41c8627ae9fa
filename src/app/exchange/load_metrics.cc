#include "app/exchange/load_metrics.h"

#include <cstddef>
#include <cstdint>
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

template <typename Counter>
void write_handshakes(const Counter& counter) {
  counter("tls_handshake", [](auto& c) -> auto& { return c.tls_handshakes; });
  counter("tls_resumed", [](auto& c) -> auto& { return c.tls_resumed; });
  counter("tls_plaintext", [](auto& c) -> auto& { return c.tls_plaintext; });
  counter("tls_protocol", [](auto& c) -> auto& { return c.tls_protocol; });
  counter("tls_certificate", [](auto& c) -> auto& { return c.tls_certificate; });
  counter("tls_closed", [](auto& c) -> auto& { return c.tls_closed; });
  counter("handshake_timeout", [](auto& c) -> auto& { return c.handshake_timeouts; });
  counter("over_handshakes", [](auto& c) -> auto& { return c.over_handshakes; });
  counter("proxy_untrusted", [](auto& c) -> auto& { return c.proxy_untrusted; });
  counter("proxy_malformed", [](auto& c) -> auto& { return c.proxy_malformed; });
}

template <typename Counter>
void write_codings(const Counter& counter) {
  counter("inflated", [](auto& c) -> auto& { return c.inflated; });
  counter("deflated", [](auto& c) -> auto& { return c.deflated; });
  counter("gzip_bad", [](auto& c) -> auto& { return c.gzip_bad; });
  counter("gzip_too_large", [](auto& c) -> auto& { return c.gzip_too_large; });
}

template <typename Counter>
void write_http2(const Counter& counter) {
  counter("http2_connection", [](auto& c) -> auto& { return c.http2_connections; });
  counter("http2_reset", [](auto& c) -> auto& { return c.http2_resets; });
  counter("http2_refused", [](auto& c) -> auto& { return c.http2_refused; });
  counter("http2_protocol", [](auto& c) -> auto& { return c.http2_protocol; });
  counter("http2_stalled", [](auto& c) -> auto& { return c.http2_stalled; });
  counter("http2_reset_flood", [](auto& c) -> auto& { return c.http2_reset_floods; });
  counter("http2_control_flood", [](auto& c) -> auto& { return c.http2_control_floods; });
  counter("http2_header_flood", [](auto& c) -> auto& { return c.http2_header_floods; });
  counter("http2_over_memory", [](auto& c) -> auto& { return c.http2_over_memory; });
}

void write_shed(const MetricSources& sources, MetricsPage& page) {
  for (size_t level = 0; level < 2; ++level) {
    for (size_t reason = 1; reason <= WorkerStats::kShedForMemory; ++reason) {
      for (size_t priority = 0; priority <= WorkerStats::kShedUnread; ++priority) {
        page.counter(
            "spillway_exchange_shed_total", "Auctions shed, by level, reason and priority.",
            {{"level", level == 0 ? "1" : "2"},
             {"reason", reason == WorkerStats::kShedForMemory
                            ? "memory"
                            : to_string(static_cast<resilience::ShedReason>(reason))},
             {"priority", priority == WorkerStats::kShedUnread
                              ? "unread"
                              : to_string(static_cast<resilience::Criticality>(priority))}},
            sum(sources, [=](auto& s) -> auto& { return s.shed[level][reason][priority]; }));
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
  page.latency("spillway_exchange_queue_age_seconds", "Time a request waited to be read.", {},
               *queue_age);
  page.latency("spillway_exchange_answer_time_seconds", "Time from time zero to the answer.", {},
               *answer_time);
  page.counter("spillway_exchange_deadline_misses_total",
               "Answers whose last byte left after time zero plus tmax. Must stay 0.", {},
               server_sum(sources, [](auto& c) -> auto& { return c.deadline_misses; }));
}

void write_server(const MetricSources& sources, MetricsPage& page) {
  const auto counter = [&](std::string_view what, auto pick) {
    page.counter("spillway_exchange_server_events_total", "What happened on callers' connections.",
                 {{"event", what}}, server_sum(sources, pick));
  };
  counter("accepted", [](auto& c) -> auto& { return c.accepted; });
  counter("closed", [](auto& c) -> auto& { return c.closed; });
  counter("request", [](auto& c) -> auto& { return c.requests; });
  counter("answer", [](auto& c) -> auto& { return c.answers; });
  counter("bad_request", [](auto& c) -> auto& { return c.bad_request; });
  counter("header_too_large", [](auto& c) -> auto& { return c.header_too_large; });
  counter("body_too_large", [](auto& c) -> auto& { return c.body_too_large; });
  counter("timeout", [](auto& c) -> auto& { return c.timeouts; });
  counter("over_budget", [](auto& c) -> auto& { return c.over_budget; });
  counter("over_connections", [](auto& c) -> auto& { return c.over_connections; });
  counter("caller_gone", [](auto& c) -> auto& { return c.callers_gone; });
  counter("read_pause", [](auto& c) -> auto& { return c.read_pauses; });
  counter("read_held", [](auto& c) -> auto& { return c.reads_held; });
  counter("accept_error", [](auto& c) -> auto& { return c.accept_errors; });
  write_handshakes(counter);
  write_codings(counter);
  write_http2(counter);
  page.counter("spillway_exchange_tls_ticket_rotations_total",
               "Times that the keys of resumption tickets were rotated.", {},
               sources.ticket_rotations);
  page.counter("spillway_exchange_received_bytes_total", "Bytes read from callers.", {},
               server_sum(sources, [](auto& c) -> auto& { return c.received_bytes; }));
  page.counter("spillway_exchange_sent_bytes_total", "Bytes sent to callers.", {},
               server_sum(sources, [](auto& c) -> auto& { return c.sent_bytes; }));
  page.gauge("spillway_exchange_connections", "Callers' connections open.", {},
             static_cast<double>(sources.server.open_connections()));
  page.gauge(
      "spillway_exchange_buffered_bytes", "Request and answer bytes held now.", {},
      static_cast<double>(server_sum(sources, [](auto& c) -> auto& { return c.buffered_bytes; })));
}

}  // namespace spillway::app
