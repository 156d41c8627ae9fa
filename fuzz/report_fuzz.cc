// Arbitrary bytes as what the balancer and the agent read of others: packets of peers, HAProxy's
// reports, GET /load, a metrics page, files of the kernel. The first byte says as what.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "adapters/cpu_text.h"
#include "adapters/haproxy_report.h"
#include "adapters/load_text.h"
#include "adapters/sample_packet.h"
#include "base/time.h"

namespace {

using namespace spillway;

void must(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void as_packet(std::string_view bytes) {
  const adapters::SamplePackets packets("a key of more than sixteen bytes");
  // Nobody can sign without the key.
  must(!packets.open_message(bytes, base::Instant{}, 0));
}

void as_haproxy_report(std::string_view text) {
  if (const auto stats = adapters::parse_haproxy_stats(text)) {
    for (const auto& server : stats->servers) {
      must(!server.server.empty() && server.user_weight <= 256);
      static_cast<void>(adapters::is_agent_silent(server.agent_status));
    }
  } else {
    must(!stats.error().empty());
  }
  if (const auto states = adapters::parse_haproxy_states(text); !states) {
    must(!states.error().empty());
  }
  static_cast<void>(adapters::parse_haproxy_info(text));
}

void as_load(std::string_view text) {
  if (const auto load = adapters::parse_load(text)) {
    must(std::isfinite(load->requests) && std::isfinite(load->successes) &&
         std::isfinite(load->failures) && std::isfinite(load->in_flight) &&
         std::isfinite(load->limit));
  }
}

void as_metrics_page(std::string_view text) {
  const size_t end = text.find('\n');
  const auto selector = adapters::SeriesSelector::parse(text.substr(0, end));
  if (!selector || end == std::string_view::npos) {
    return;
  }
  adapters::PageSelectors selectors;
  selectors.successes = selectors.failures = {*selector};
  if (const auto load = adapters::parse_page(text.substr(end), selectors)) {
    must(load->successes == load->failures || std::isinf(load->successes));
  }
}

void as_kernel_file(std::string_view text) {
  static_cast<void>(adapters::parse_proc_stat(text));
  static_cast<void>(adapters::parse_keyed(text, "nr_throttled"));
  static_cast<void>(adapters::parse_number(text));
  if (const auto cores = adapters::parse_cpu_max(text)) {
    must(*cores > 0);
  }
  static_cast<void>(adapters::parse_cpu_list(text));
  static_cast<void>(adapters::parse_pressure(text));
  static_cast<void>(adapters::parse_group(text, "cpu"));
  static_cast<void>(adapters::parse_group(text, ""));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string bytes(data + 1, data + size);
  switch (data[0] % 5) {
    case 0:
      as_packet(bytes);
      break;
    case 1:
      as_haproxy_report(bytes);
      break;
    case 2:
      as_load(bytes);
      break;
    case 3:
      as_metrics_page(bytes);
      break;
    default:
      as_kernel_file(bytes);
      break;
  }
  return 0;
}
