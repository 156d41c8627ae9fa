// What an agent's admin listener shows and does.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "adapters/agent_check.h"
#include "adapters/cpu_reader.h"
#include "app/agent/departure.h"
#include "app/agent/orders.h"
#include "app/agent/service.h"
#include "base/time.h"
#include "capacity/law_settings.h"
#include "capacity/reading.h"
#include "capacity/sample.h"
#include "net/http.h"
#include "observe/admin.h"
#include "observe/log.h"
#include "openrtb/document.h"

namespace spillway::app::agent {
namespace {

using openrtb::json_string;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kText = "text/plain; charset=utf-8";

net::Response sentence(uint16_t status, std::string_view text) {
  return {
      .status = status, .content_type = kText, .headers = {}, .body = fmt::format("{}\n", text)};
}

std::string_view state_name(capacity::ServerState state) {
  switch (state) {
    case capacity::ServerState::kWarming:
      return "warming";
    case capacity::ServerState::kServing:
      return "serving";
    case capacity::ServerState::kFrozen:
      return "frozen";
    case capacity::ServerState::kDraining:
      return "draining";
  }
  return "";
}

}  // namespace

net::Response Service::answer(const net::Request& request) {
  if (request.path() == "/status") {
    if (request.method != "GET" && request.method != "HEAD") {
      return sentence(405, "method: must be GET, HEAD");
    }
    return {.status = 200, .content_type = kJson, .headers = {}, .body = status_json(*this)};
  }
  if (auto done = give_order(request)) {
    return std::move(*done);
  }
  observe::AdminHooks hooks{};
  hooks.metrics = [this] { return metrics_text(*this); };
  hooks.ready = [this] { return decision_.has_value() && !departure_.draining(); };
  if (read_) {
    hooks.reload = [this] { return reload(); };
  }
  hooks.other_pages = "/status /freeze /unfreeze /pin /unpin /dry-run /live /drain /undrain";
  return observe::admin_response(hooks, request);
}

std::optional<net::Response> Service::give_order(const net::Request& request) {
  const auto path = request.path();
  OperatorOrders next = given_;
  if (path == "/freeze" || path == "/unfreeze") {
    next.freeze = path == "/freeze";
  } else if (path == "/drain" || path == "/undrain") {
    next.drain = path == "/drain";
  } else if (path == "/dry-run" || path == "/live") {
    next.dry_run = path == "/dry-run";
  } else if (path == "/unpin") {
    next.pin = 0;
  } else if (path == "/pin") {
    constexpr std::string_view kKey = "weight=";
    const auto query = request.query();
    const auto weight =
        query.starts_with(kKey) ? parse_weight(query.substr(kKey.size())) : std::nullopt;
    if (!weight && request.method == "POST") {
      return sentence(400, "weight: must be a number from 1 to 256, as /pin?weight=80");
    }
    next.pin = weight.value_or(0);
  } else {
    return std::nullopt;
  }
  if (request.method != "POST") {
    return sentence(405, "method: must be POST");
  }
  if (!request.header("Origin").empty()) {
    return sentence(403, "origin: web pages may not give orders here");
  }
  given_ = next;
  note_orders(path);
  return net::Response{
      .status = 200, .content_type = kJson, .headers = {}, .body = "{\"done\":true}\n"};
}

void Service::note_orders(std::string_view by) {
  log_.event(observe::Level::kInfo, "event=order_given by={}", observe::quoted(by));
  refresh_orders(reactor_.now());
}

std::string status_json(const Service& service) {
  const auto now = service.reactor_.now();
  const auto& config = service.config_;
  std::string out = fmt::format(
      R"({{"id":{},"service":{},"zone":{},"class":{},"law":{},"cpu":{},"reply":{},)"
      R"("draining":{},"drain_reason":{},"leaving":{},"warming":{},)"
      R"("orders":{{"freeze":{},"pin":{},"dry_run":{},"drain":{},"file_error":{}}},)",
      json_string(config.id), json_string(config.service), json_string(config.zone),
      json_string(service.law_.self().server_class), json_string(to_string(config.law.law)),
      json_string(to_string(service.cpu_.form())),
      json_string(adapters::agent_line(service.agent_->reply())), service.departure_.draining(),
      json_string(to_string(service.departure_.reason())), service.departure_.leaving(),
      service.warming(now), service.orders_.freeze, service.orders_.pin, service.dry_run(),
      service.orders_.drain, json_string(service.orders_error_));
  out += fmt::format(R"("utilization":{},"successes_per_second":{},"failures_per_second":{},)"
                     R"("requests_per_second":{},"p95_ms":{},"in_flight":{},)",
                     service.reading_.utilization, service.reading_.successes_per_second,
                     service.reading_.failures_per_second, service.reading_.requests_per_second,
                     service.reading_.p95_ms,
                     service.meter_.load() ? service.meter_.load()->in_flight : 0);
  if (const auto& decision = service.decision_) {
    out +=
        fmt::format(R"("decision":{{"weight":{},"target":{},"sent":{},"capacity":{},"prior":{},)"
                    R"("mean_utilization":{},"mean_capacity":{},"mean_age_ms":{:.0f},"peers":{},)"
                    R"("reasons":{}}},)",
                    decision->weight, decision->target, service.sent_.current(), decision->capacity,
                    decision->prior, decision->mean_utilization, decision->mean_capacity,
                    base::to_ms(decision->mean_age), decision->peers,
                    json_string(to_string(decision->reasons)));
  }
  out += R"("peers":[)";
  bool first = true;
  for (const auto& [id, sample] : service.view_.samples()) {
    out += fmt::format(
        R"({}{{"id":{},"zone":{},"class":{},"state":"{}","utilization":{},"capacity":{},)"
        R"("weight":{},"age_ms":{:.0f},"live":{}}})",
        first ? "" : ",", json_string(id), json_string(sample.zone),
        json_string(sample.server_class), state_name(sample.state), sample.utilization,
        sample.capacity, sample.weight, base::to_ms(now - sample.taken_at),
        service.view_.is_live(now, sample));
    first = false;
  }
  return out + "]}\n";
}

}  // namespace spillway::app::agent
