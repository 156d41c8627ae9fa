#include "app/serving/server_metrics.h"

#include <string>
#include <string_view>

#include <fmt/core.h>

#include "net/server.h"
#include "observe/metrics_page.h"

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

}  // namespace

void write_server(const net::Server& server, std::string_view prefix, MetricsPage& page) {
  const auto name = [prefix](std::string_view rest) { return fmt::format("{}_{}", prefix, rest); };
  const std::string events = name("server_events_total");
  const auto counter = [&](std::string_view what, auto pick) {
    page.counter(events, "What happened on callers' connections.", {{"event", what}},
                 sum_of(server, pick));
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
  page.counter(name("received_bytes_total"), "Bytes read from callers.", {},
               sum_of(server, [](auto& c) -> auto& { return c.received_bytes; }));
  page.counter(name("sent_bytes_total"), "Bytes sent to callers.", {},
               sum_of(server, [](auto& c) -> auto& { return c.sent_bytes; }));
  page.gauge(name("connections"), "Callers' connections open.", {},
             static_cast<double>(server.open_connections()));
  page.gauge(
      name("buffered_bytes"), "Request and answer bytes held now.", {},
      static_cast<double>(sum_of(server, [](auto& c) -> auto& { return c.buffered_bytes; })));
}

}  // namespace spillway::app
