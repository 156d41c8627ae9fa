#include "app/dsp/farm_config.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "base/time.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "workload/bidding.h"
#include "workload/fault.h"
#include "workload/latency.h"
#include "workload/partner.h"
#include "workload/script.h"

namespace spillway::app {

namespace {

using workload::Fault;
using workload::FaultKind;
using workload::Latency;
using workload::Price;

constexpr size_t kHosts = 64;
constexpr base::Duration kLongest = std::chrono::hours(24);

void read_latency(ConfigReader& parent, std::string_view key, Latency& out) {
  ConfigReader reader = parent.section(key);
  size_t kind = static_cast<size_t>(out.kind);
  reader.read_choice("kind", {"constant", "lognormal", "pareto"}, kind);
  out.kind = static_cast<Latency::Kind>(kind);
  const base::Duration zero{};
  switch (out.kind) {
    case Latency::Kind::kConstant:
      reader.read("value", out.typical, zero, std::chrono::seconds(60));
      break;
    case Latency::Kind::kLognormal:
      reader.read("median", out.typical, std::chrono::microseconds(1), std::chrono::seconds(60));
      reader.read("sigma", out.shape, 0.001, 10);
      break;
    case Latency::Kind::kPareto:
      reader.read("min", out.typical, std::chrono::microseconds(1), std::chrono::seconds(60));
      reader.read("alpha", out.shape, 0.001, 10);
      break;
  }
  if (out.cap < out.typical) {
    out.cap = out.typical;
  }
  reader.read("cap", out.cap, out.typical, std::chrono::minutes(10));
  reader.finish();
}

void read_price(ConfigReader& parent, Price& out) {
  ConfigReader reader = parent.section("price");
  size_t kind = static_cast<size_t>(out.kind);
  reader.read_choice("kind", {"uniform", "lognormal"}, kind);
  out.kind = static_cast<Price::Kind>(kind);
  if (out.kind == Price::Kind::kUniform) {
    reader.read_cpm("low", out.low);
    reader.read_cpm("high", out.high);
  } else {
    reader.read_cpm("median", out.low);
    reader.read("sigma", out.sigma, 0.001, 10);
    reader.read_cpm("cap", out.high);
  }
  reader.finish();
}

void read_fault_parameters(ConfigReader& reader, Fault& fault) {
  std::vector<std::string_view> kinds;
  kinds.reserve(workload::kFaultKinds);
  for (size_t i = 0; i < workload::kFaultKinds; ++i) {
    kinds.push_back(workload::to_string(static_cast<FaultKind>(i)));
  }
  if (!reader.has("kind")) {
    reader.problem("kind", "must be there");
  }
  size_t kind = 0;
  reader.read_choice("kind", kinds, kind);
  fault.kind = static_cast<FaultKind>(kind);
  reader.read("share", fault.share_ratio, 0, 1);
  reader.read("host", fault.host);
  reader.read("every", fault.every, std::chrono::milliseconds(20), kLongest);
  reader.read("on", fault.on, std::chrono::milliseconds(20), kLongest);
  if (reader.has("latency")) {
    fault.latency = Latency{};
    read_latency(reader, "latency", *fault.latency);
  }
  reader.read("added", fault.added, base::Duration(1), std::chrono::seconds(60));
  reader.read("added_to", fault.added_to, base::Duration(1), std::chrono::seconds(60));
  reader.read("over", fault.over, std::chrono::milliseconds(1), kLongest);
  reader.read("servers", fault.servers, 1, 10'000);
  reader.read("longest_wait", fault.longest_wait, base::Duration{}, std::chrono::minutes(10));
  reader.read("keeps_tmax", fault.keeps_tmax);
  uint32_t status = fault.status;
  reader.read("status", status, 500, 599);
  fault.status = static_cast<uint16_t>(status);
  reader.read("retry_after", fault.retry_after, base::Duration{}, kLongest);
  reader.read("drip_interval", fault.drip_interval, std::chrono::milliseconds(1),
              std::chrono::seconds(60));
  uint64_t bytes = fault.drip_bytes;
  reader.read_bytes("drip_bytes", bytes, 1, 64 * 1024);
  fault.drip_bytes = bytes;
  bytes = fault.body_bytes;
  reader.read_bytes("body_bytes", bytes, 1024, uint64_t{64} << 20);
  fault.body_bytes = bytes;
  reader.read("raw", fault.raw);
}

/// A recorded file of calls, looked for as the program's own files are.
void read_script(ConfigReader& reader, workload::Script& out) {
  std::string path;
  reader.read("script", path);
  if (path.empty()) {
    return;
  }
  const auto text = read_config_file(path);
  auto script = text ? workload::Script::parse(*text)
                     : std::expected<workload::Script, std::string>(std::unexpect, text.error());
  if (script) {
    out = std::move(*script);
  } else {
    reader.problem("script", text ? path + ": " + script.error() : script.error());
  }
}

bool is_address(const std::string& text) {
  in_addr address{};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1;
}

void read_hosts(ConfigReader& reader, FarmDspConfig& dsp) {
  reader.read("listen", dsp.listen);
  reader.read("hosts", dsp.hosts);
  const std::string first = dsp.listen.substr(0, dsp.listen.rfind(':'));
  if (!is_address(first)) {
    reader.problem("listen",
                   fmt::format("must be an IPv4 address and a port, is \"{}\"", dsp.listen));
  }
  std::vector<std::string> all{first};
  for (const auto& host : dsp.hosts) {
    if (!is_address(host) || std::ranges::find(all, host) != all.end()) {
      reader.problem("hosts", fmt::format("must be IPv4 addresses, each once, is \"{}\"", host));
    }
    all.push_back(host);
  }
  if (all.size() > kHosts) {
    reader.problem("hosts", fmt::format("must be fewer than {}", kHosts));
  }
}

void report(ConfigReader& reader, const std::vector<workload::Problem>& found) {
  for (const auto& problem : found) {
    reader.problem(problem.key, problem.what);
  }
}

FarmDspConfig read_dsp(ConfigReader& reader) {
  FarmDspConfig dsp;
  auto& style = dsp.partner.style;
  if (!reader.has("name")) {
    reader.problem("name", "must be there");
  }
  reader.read("name", style.name);
  if (style.name.empty() ||
      style.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != std::string::npos) {
    reader.problem("name", "must be of a-z, 0-9, - and _");
  }
  read_hosts(reader, dsp);
  auto tls = reader.section("tls");
  tls.read("cert_file", dsp.cert_file);
  tls.read("key_file", dsp.key_file);
  if (dsp.cert_file.empty() != dsp.key_file.empty()) {
    tls.problem("", "must have cert_file and key_file");
  }
  tls.finish();
  reader.read("bid_rate", style.bid_ratio, 0, 1);
  size_t spelling = 0;
  reader.read_choice("nobid", workload::nobid_names(), spelling);
  style.nobid = static_cast<workload::NoBidSpelling>(spelling);
  reader.read("notice_url", style.notice_url);
  if (!style.notice_url.empty() && !style.notice_url.starts_with("http://") &&
      !style.notice_url.starts_with("https://")) {
    reader.problem("notice_url", "must begin with http:// or https://");
  }
  if (reader.has("latency")) {
    read_latency(reader, "latency", dsp.partner.latency);
  }
  if (reader.has("price")) {
    read_price(reader, style.price);
  }
  reader.read("keeps_tmax", dsp.partner.keeps_tmax);
  reader.read("tmax_reserve", dsp.partner.tmax_reserve, base::Duration{}, std::chrono::seconds(1));
  read_script(reader, dsp.partner.script);
  for (ConfigReader& entry : reader.list("faults")) {
    Fault fault;
    read_fault_parameters(entry, fault);
    entry.read("from", fault.from, base::Duration{}, kLongest);
    entry.read("to", fault.to, base::Duration{}, kLongest);
    report(entry, validate(fault));
    if (!fault.host.empty() && !dsp.listen.starts_with(fault.host + ":") &&
        std::ranges::find(dsp.hosts, fault.host) == dsp.hosts.end()) {
      entry.problem("host", "must be one of the DSP's addresses");
    }
    entry.finish();
    dsp.partner.faults.push_back(fault);
  }
  report(reader, validate(style));
  reader.finish();
  return dsp;
}

/// JSON as flow YAML with its simple strings plain: the reader wants numbers with units unquoted,
/// which JSON cannot write.
void append_yaml(std::string& out, const openrtb::Document& json, openrtb::NodeId node) {
  const bool object = json.is(node, openrtb::Kind::kObject);
  if (object || json.is(node, openrtb::Kind::kArray)) {
    out += object ? '{' : '[';
    for (const auto child : json.children(node)) {
      if (object) {
        const auto& member = json.node(child);
        out += '"';
        out += json.text().substr(member.key_begin, member.key_length);
        out += "\": ";
      }
      append_yaml(out, json, child);
      out += ", ";
    }
    out += object ? '}' : ']';
    return;
  }
  const std::string_view text = json.raw_string(node);
  const bool simple = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_';
  });
  out += simple ? text : json.raw(node);
}

}  // namespace

FarmConfig read_farm_config(std::string_view text, std::vector<ConfigProblem>& problems) {
  FarmConfig config;
  ConfigReader reader(text, problems);
  int64_t seed = 1;
  reader.read("seed", seed, 0, INT64_MAX);
  config.seed = static_cast<uint64_t>(seed);
  if (reader.has("admin")) {
    ConfigReader admin = reader.section("admin");
    admin.read("listen", config.admin_listen);
    admin.finish();
  }
  for (ConfigReader& entry : reader.list("dsps")) {
    FarmDspConfig dsp = read_dsp(entry);
    if (std::ranges::any_of(config.dsps, [&](const FarmDspConfig& other) {
          return other.partner.style.name == dsp.partner.style.name;
        })) {
      entry.problem("name", "stands twice");
    }
    config.dsps.push_back(std::move(dsp));
  }
  if (problems.empty() && config.dsps.empty()) {
    reader.problem("dsps", "must name at least one DSP");
  }
  reader.finish();
  return config;
}

FaultCall read_fault_call(std::string_view text, std::vector<ConfigProblem>& problems) {
  FaultCall call;
  const openrtb::Padded padded(text);
  openrtb::Document json;
  if (!json.walk(padded.view()) || !json.is(json.root(), openrtb::Kind::kObject)) {
    problems.push_back({.key = "", .line = 0, .what = "must be a JSON object"});
    return call;
  }
  std::string yaml;
  append_yaml(yaml, json, json.root());
  ConfigReader reader(yaml, problems);
  read_fault_parameters(reader, call.fault);
  reader.read("for", call.lasting, std::chrono::milliseconds(1), kLongest);
  report(reader, validate(call.fault));
  reader.finish();
  return call;
}

}  // namespace spillway::app
