#pragma once

#include <cstdint>
#include <string_view>

#include "net/server.h"
#include "observe/metrics_page.h"

namespace spillway::app {

/// The sum over workers of one of a server's counters.
template <typename Pick>
[[nodiscard]] uint64_t sum_of(const net::Server& server, Pick pick) {
  uint64_t total = 0;
  for (size_t i = 0; i < server.workers(); ++i) {
    total += pick(server.counters(i)).value();
  }
  return total;
}

/// What happened on callers' connections: PREFIX_server_events_total and the like; `prefix`:
/// "spillway_exchange".
void write_server(const net::Server& server, std::string_view prefix, observe::MetricsPage& page);

}  // namespace spillway::app
