#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/time.h"
#include "observe/admin.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::observe {

namespace {

constexpr std::string_view kAdmitted[] = {"normal", "probe", "ramp", "explore", "shadow"};
constexpr int kFirstRefusal = static_cast<int>(resilience::Refusal::kCircuitOpen);

void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

/// JSON has no NaN or infinity.
double finite(double value) { return std::isfinite(value) ? value : 0.0; }

template <typename Name>
void append_counts(std::string& out, std::string_view title, std::span<const uint64_t> counts,
                   Name name) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":{{", title);
  for (size_t i = 0; i < counts.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\":{}", i == 0 ? "" : ",", name(i), counts[i]);
  }
  out += '}';
}

void append_circuit(std::string& out, const resilience::Guard& guard) {
  const resilience::Peek peek = guard.peek();
  out += "{\"key\":";
  append_text(out, guard.key());
  fmt::format_to(std::back_inserter(out),
                 ",\"state\":\"{}\",\"mode\":\"{}\",\"epoch\":{},\"admit_ratio\":{},\"in_flight\":{"
                 "},\"limit\":{}"
                 ",\"p50_ms\":{},\"p90_ms\":{},\"median_offered_ms\":{},\"baseline_bad_ratio\":{}",
                 to_string(peek.state), to_string(peek.mode), peek.epoch, finite(peek.admit_ratio),
                 peek.in_flight, peek.limit, base::to_ms(peek.p50), base::to_ms(peek.p90),
                 base::to_ms(peek.median_offered), finite(peek.baseline_bad_ratio));
  const resilience::Totals totals = guard.totals();
  append_counts(out, "admitted", totals.admitted, [](size_t i) { return kAdmitted[i]; });
  append_counts(out, "refused", totals.refused,
                [](size_t i) { return kFirstRefusal + static_cast<int>(i); });
  append_counts(out, "outcomes", totals.outcomes,
                [](size_t i) { return to_string(static_cast<resilience::Outcome>(i)); });
}

void append_hosts(std::string& out, const std::vector<CircuitHost>& hosts) {
  out += ",\"hosts\":[";
  for (const CircuitHost& host : hosts) {
    out += &host == &hosts.front() ? "{\"address\":" : ",{\"address\":";
    append_text(out, host.address);
    fmt::format_to(std::back_inserter(out),
                   ",\"ejected\":{},\"returns_in_ms\":{},\"ejections\":{},\"weight\":{},"
                   "\"in_flight\":{},\"good\":{},\"local_failures\":{},\"server_errors\":{},"
                   "\"neutral\":{}}}",
                   host.ejected, base::to_ms(host.returns_in), host.ejections, finite(host.weight),
                   host.in_flight, host.good, host.local_failures, host.server_errors,
                   host.neutral);
  }
  out += ']';
}

}  // namespace

std::string circuits_json(
    const resilience::Registry& registry,
    const std::function<std::vector<CircuitHost>(std::string_view key)>& hosts_of) {
  std::vector<const resilience::Guard*> guards;
  for (const auto& guard : registry.guards()) {
    guards.push_back(guard.get());
  }
  std::ranges::sort(guards, {}, [](const resilience::Guard* guard) { return guard->key(); });
  std::string out = "{\"circuits\":[";
  for (const auto* guard : guards) {
    out += guard == guards.front() ? "" : ",";
    append_circuit(out, *guard);
    if (hosts_of) {
      append_hosts(out, hosts_of(guard->key()));
    }
    out += '}';
  }
  out += "],\"parents\":[";
  const auto nodes = registry.nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    out += i == 0 ? "{\"key\":" : ",{\"key\":";
    append_text(out, nodes[i].key);
    fmt::format_to(std::back_inserter(out),
                   ",\"state\":\"{}\",\"override\":\"{}\",\"leaves\":{},\"closed_leaves\":{}}}",
                   to_string(nodes[i].state), to_string(nodes[i].override), nodes[i].leaves,
                   nodes[i].closed_leaves);
  }
  out += "]}\n";
  return out;
}

}  // namespace spillway::observe
