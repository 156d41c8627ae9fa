#include "observe/admin.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/time.h"
#include "net/http.h"
#include "observe/mode_order.h"

namespace spillway::observe {

namespace {

constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kMetricsText = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kJson = "application/json";

net::Response answer(uint16_t status, std::string_view content_type, std::string body) {
  return {.status = status, .content_type = content_type, .headers = {}, .body = std::move(body)};
}

net::Response sentence(uint16_t status, std::string body) {
  if (!body.ends_with('\n')) {
    body += '\n';
  }
  return answer(status, kText, std::move(body));
}

/// Names what is there, and nothing that is not.
net::Response not_found(const AdminHooks& hooks, std::string_view path) {
  std::string pages = "/healthz";
  const auto add = [&pages](bool is_there, std::string_view page) {
    pages += is_there ? fmt::format(" {}", page) : "";
  };
  add(bool(hooks.metrics), "/metrics");
  add(bool(hooks.ready), "/readyz");
  add(bool(hooks.load), "/load");
  add(hooks.circuits || hooks.set_mode, "/admin/circuits");
  add(bool(hooks.reload), "/admin/reload");
  add(!hooks.other_pages.empty(), hooks.other_pages);
  return sentence(404, fmt::format("{}: no such page; there are {}", path.substr(0, 200), pages));
}

net::Response not_allowed(std::string_view allow) {
  net::Response response = sentence(405, fmt::format("method: must be {}", allow));
  response.headers.emplace_back("Allow", allow);
  return response;
}

/// `%41` as `A`; nothing when a `%` is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    const char* const first = text.data() + i + 1;
    if (text.size() - i < 3 || std::from_chars(first, first + 2, byte, 16).ptr != first + 2) {
      return std::nullopt;
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

/// The value of `key=` in a query; nothing when it is absent, given twice, empty or ill-escaped.
std::optional<std::string> key_of(std::string_view query) {
  std::optional<std::string> found;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    if (!part.starts_with("key=")) {
      continue;
    }
    auto value = percent_decoded(part.substr(4));
    if (found || !value || value->empty()) {
      return std::nullopt;
    }
    found = std::move(value);
  }
  return found;
}

net::Response set_mode(const AdminHooks& hooks, const net::Request& request) {
  const auto key = key_of(request.query());
  if (!key) {
    return sentence(400, "key: the query must have it once, as ?key=dsp/region/path");
  }
  const auto order = parse_mode_order(request.body);
  if (!order) {
    return sentence(400, order.error());
  }
  std::string wrong = hooks.set_mode(*key, order->mode, order->lasting, order->why);
  return wrong.empty() ? answer(200, kJson, "{\"done\":true}\n") : sentence(422, std::move(wrong));
}

net::Response circuits(const AdminHooks& hooks, const net::Request& request) {
  if ((request.method == "GET" || request.method == "HEAD") && hooks.circuits) {
    return answer(200, kJson, hooks.circuits());
  }
  if (request.method == "POST" && hooks.set_mode) {
    return set_mode(hooks, request);
  }
  return not_allowed("GET, HEAD, POST");
}

net::Response reload(const AdminHooks& hooks) {
  std::string problems = hooks.reload();
  return problems.empty() ? answer(200, kJson, "{\"done\":true}\n")
                          : sentence(422, std::move(problems));
}

std::string load_json(const Load& load) {
  return fmt::format(
      "{{\"requests\":{},\"successes\":{},\"failures\":{},\"in_flight\":{},\"limit\":{},"
      "\"p95_ms\":{:.3f}}}\n",
      load.requests, load.successes, load.failures, load.in_flight, load.limit,
      base::to_ms(load.p95));
}

net::Response routed(const AdminHooks& hooks, const net::Request& request) {
  const std::string_view path = request.path();
  if (path == "/admin/circuits" && (hooks.circuits || hooks.set_mode)) {
    return circuits(hooks, request);
  }
  if (path == "/admin/reload" && hooks.reload) {
    return request.method == "POST" ? reload(hooks) : not_allowed("POST");
  }
  const bool page = path == "/healthz" || (path == "/metrics" && hooks.metrics) ||
                    (path == "/readyz" && hooks.ready) || (path == "/load" && hooks.load);
  if (!page) {
    return not_found(hooks, path);
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return not_allowed("GET, HEAD");
  }
  if (path == "/metrics") {
    return answer(200, kMetricsText, hooks.metrics());
  }
  if (path == "/load") {
    return answer(200, kJson, load_json(hooks.load()));
  }
  const bool well = path == "/healthz" || hooks.ready();
  return sentence(well ? 200 : 503, well ? "ok" : "not ready");
}

}  // namespace

net::Response admin_response(const AdminHooks& hooks, const net::Request& request) {
  if (request.method == "POST" && !request.header("Origin").empty()) {
    return sentence(403, "origin: web pages may not give orders here");
  }
  try {
    return routed(hooks, request);
  } catch (const std::exception& error) {
    return sentence(500, fmt::format("hook: {}", error.what()));
  }
}

}  // namespace spillway::observe
