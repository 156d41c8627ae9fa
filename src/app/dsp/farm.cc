#include "app/dsp/farm.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/config/reader.h"
#include "app/dsp/farm_config.h"
#include "app/dsp/farm_dsp.h"
#include "base/hash.h"
#include "base/time.h"
#include "net/http.h"
#include "net/reactor.h"
#include "observe/metrics_page.h"
#include "openrtb/document.h"
#include "workload/fault.h"
#include "workload/partner.h"

namespace spillway::app {

namespace {

constexpr std::string_view kJson = "application/json";

net::Response json(uint16_t status, std::string body) {
  return {.status = status, .content_type = kJson, .headers = {}, .body = std::move(body)};
}

net::Response refusal(uint16_t status, std::string_view why) {
  std::string body = R"({"error":)";
  openrtb::append_json_string(body, why);
  return json(status, body + "}\n");
}

/// The value of `name` in a query string; "" when absent. Names of DSPs need no decoding but `*`.
std::string_view parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    if (pair.starts_with(name) && pair.size() > name.size() && pair[name.size()] == '=') {
      return pair.substr(name.size() + 1);
    }
    query = end == std::string_view::npos ? "" : query.substr(end + 1);
  }
  return "";
}

std::string account_json(const workload::PartnerAccount& account) {
  std::string out = fmt::format(
      R"({{"calls":{},"bids":{},"no_bids":{},"bad_requests":{},"errors":{},"hung":{},"reset":{},)"
      R"("bids_sent":{},"connections":{},"answered":{},"abandoned":{},"faults":{{)",
      account.calls.value(), account.bids.value(), account.no_bids.value(),
      account.bad_requests.value(), account.errors.value(), account.hung.value(),
      account.reset.value(), account.bids_sent.value(), account.connections.value(),
      account.answered.value(), account.abandoned.value());
  for (size_t i = 0; i < workload::kFaultKinds; ++i) {
    out += fmt::format(R"({}"{}":{})", i == 0 ? "" : ",",
                       workload::to_string(static_cast<workload::FaultKind>(i)),
                       account.faults[i].value());
  }
  return out + "}}";
}

/// What became of the calls of one DSP. docs/metrics.md lists it; a test compares.
void append_metrics(observe::MetricsPage& page, const FarmDsp& dsp) {
  const auto& account = dsp.partner().account();
  const std::string_view name = dsp.name();
  const auto planned = [&](std::string_view answer, const base::Counter& count) {
    page.counter("spillway_farm_calls_total", "Whole requests read, by the answer planned",
                 {{"dsp", name}, {"answer", answer}}, count.value());
  };
  planned("bid", account.bids);
  planned("no_bid", account.no_bids);
  planned("bad_request", account.bad_requests);
  planned("error", account.errors);
  planned("hung", account.hung);
  planned("reset", account.reset);
  for (size_t i = 0; i < workload::kFaultKinds; ++i) {
    const auto kind = workload::to_string(static_cast<workload::FaultKind>(i));
    page.counter("spillway_farm_faults_total", "Calls hit, by fault",
                 {{"dsp", name}, {"fault", kind}}, account.faults[i].value());
  }
  page.counter("spillway_farm_answered_total", "Answers that the kernel took whole",
               {{"dsp", name}}, account.answered.value());
  page.counter("spillway_farm_abandoned_total", "Calls whose connection ended before the answer",
               {{"dsp", name}}, account.abandoned.value());
  page.counter("spillway_farm_bids_sent_total", "Bids within the bid answers", {{"dsp", name}},
               account.bids_sent.value());
  page.counter("spillway_farm_connections_total", "Connections accepted", {{"dsp", name}},
               account.connections.value());
  for (const auto& one : dsp.listeners()) {
    page.counter("spillway_farm_host_calls_total", "Whole requests read, by the address called",
                 {{"dsp", name}, {"host", one->host()}}, one->calls().value());
    page.gauge("spillway_farm_host_connections", "Connections open",
               {{"dsp", name}, {"host", one->host()}}, static_cast<double>(one->connections()));
    page.gauge("spillway_farm_host_listening", "1 while connections are accepted",
               {{"dsp", name}, {"host", one->host()}}, one->listening() ? 1 : 0);
  }
}

}  // namespace

Farm::Farm(net::Reactor& reactor, const FarmConfig& config, base::Instant start)
    : reactor_(reactor) {
  for (const auto& dsp : config.dsps) {
    const uint64_t seed = base::combine64(config.seed, base::hash64(dsp.partner.style.name));
    dsps_.push_back(std::make_unique<FarmDsp>(reactor, dsp, seed, start));
  }
}

std::string Farm::error() const {
  for (const auto& dsp : dsps_) {
    if (!dsp->error().empty()) {
      return dsp->error();
    }
  }
  return "";
}

net::Response Farm::answer(const net::Request& request) {
  const std::string_view path = request.path();
  if (path == "/healthz") {
    return {.status = 200, .content_type = "text/plain", .headers = {}, .body = "ok\n"};
  }
  if (path == "/metrics") {
    return {.status = 200,
            .content_type = "text/plain; version=0.0.4",
            .headers = {},
            .body = metrics_text()};
  }
  if (path == "/admin/dsps") {
    return request.method == "GET" ? json(200, state_json()) : refusal(405, "GET only");
  }
  if (path == "/admin/fault" || path == "/admin/clear") {
    return request.method == "POST" ? change(request) : refusal(405, "POST only");
  }
  return refusal(404, "no such path; try /admin/dsps");
}

std::vector<FarmDsp*> Farm::named(std::string_view query, std::string& error) const {
  std::vector<FarmDsp*> found;
  const std::string_view name = parameter(query, "dsp");
  for (const auto& dsp : dsps_) {
    if (name == "*" || name == "%2A" || name == "%2a" || name == dsp->name()) {
      found.push_back(dsp.get());
    }
  }
  if (found.empty()) {
    error = name.empty() ? "dsp=NAME is missing" : fmt::format("no DSP is named {}", name);
  }
  return found;
}

net::Response Farm::change(const net::Request& request) {
  std::string error;
  const auto dsps = named(request.query(), error);
  if (!error.empty()) {
    return refusal(404, error);
  }
  const base::Instant now = reactor_.now();
  if (request.path() == "/admin/clear") {
    const bool schedule = parameter(request.query(), "schedule") == "1";
    for (FarmDsp* dsp : dsps) {
      dsp->partner().faults().clear(schedule);
      dsp->follow_faults(now);
    }
    return json(200, "{\"ok\":true}\n");
  }
  std::vector<ConfigProblem> problems;
  const FaultCall call = read_fault_call(request.body, problems);
  if (!problems.empty()) {
    return refusal(400, to_string(problems.front(), "body"));
  }
  const auto lacks_host = [&](const FarmDsp* dsp) {
    return !call.fault.host.empty() && !dsp->has_host(call.fault.host);
  };
  if (std::ranges::any_of(dsps, lacks_host)) {
    return refusal(400, fmt::format("body: host: {} is no address of it", call.fault.host));
  }
  for (FarmDsp* dsp : dsps) {
    if (!dsp->partner().faults().inject(call.fault, now, call.lasting)) {
      return refusal(409, "too many faults at once; clear some");
    }
    dsp->follow_faults(now);
  }
  return json(200, "{\"ok\":true}\n");
}

std::string Farm::state_json() const {
  std::string out = R"({"dsps":[)";
  for (const auto& dsp : dsps_) {
    const auto active = dsp->partner().faults().active(reactor_.now());
    out +=
        fmt::format(R"({}{{"name":"{}","listen":"{}","listening":{},"connections":{},"faults":[)",
                    out.back() == '[' ? "" : ",", dsp->name(), dsp->address(), dsp->listening(),
                    dsp->connections());
    for (const auto kind : active) {
      out += fmt::format(R"({}"{}")", out.back() == '[' ? "" : ",", workload::to_string(kind));
    }
    out += R"(],"hosts":[)";
    for (const auto& one : dsp->listeners()) {
      out += fmt::format(R"({}{{"host":"{}","listening":{},"connections":{},"calls":{}}})",
                         out.back() == '[' ? "" : ",", one->host(), one->listening(),
                         one->connections(), one->calls().value());
    }
    out += R"(],"account":)" + account_json(dsp->partner().account()) + "}";
  }
  return out + "]}\n";
}

std::string Farm::metrics_text() const {
  observe::MetricsPage page;
  for (const auto& dsp : dsps_) {
    append_metrics(page, *dsp);
  }
  return page.text();
}

}  // namespace spillway::app
