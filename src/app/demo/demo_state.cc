#include "app/demo/demo_state.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::app {

namespace {

using openrtb::Document;
using openrtb::Kind;
using openrtb::NodeId;

double number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? value : 0;
}

uint64_t whole(const Document& json, NodeId node) {
  const auto value = json.integer(node).value_or(0);
  return value > 0 ? static_cast<uint64_t>(value) : 0;
}

template <typename Value>
std::map<std::string, Value> members_of(const Document& json, NodeId object) {
  std::map<std::string, Value> out;
  for (const NodeId child : json.children(object)) {
    const auto& node = json.node(child);
    const std::string key(json.text().substr(node.key_begin, node.key_length));
    out[key] = static_cast<Value>(number(json.raw(child)));
  }
  return out;
}

}  // namespace

std::string field_of(std::string_view line, std::string_view key) {
  const std::string wanted = std::string(key) + "=";
  size_t at = 0;
  while (true) {
    at = line.find(wanted, at);
    if (at == std::string_view::npos) {
      return "";
    }
    if (at == 0 || line[at - 1] == ' ') {
      break;
    }
    ++at;
  }
  std::string_view rest = line.substr(at + wanted.size());
  if (!rest.starts_with('"')) {
    return std::string(rest.substr(0, rest.find(' ')));
  }
  std::string out;
  for (size_t i = 1; i < rest.size() && rest[i] != '"'; ++i) {
    i += rest[i] == '\\' && i + 1 < rest.size() ? 1 : 0;
    out += rest[i];
  }
  return out;
}

void DemoState::on_log_line(double at_s, std::string_view line) {
  if (field_of(line, "event") != "circuit_transition" || events.size() >= kEvents) {
    return;
  }
  events.push_back({.at_s = at_s,
                    .key = field_of(line, "key"),
                    .from = field_of(line, "from"),
                    .to = field_of(line, "to"),
                    .rule = field_of(line, "rule"),
                    .text = field_of(line, "reason")});
}

bool DemoState::on_load_line(std::string_view line) {
  const openrtb::Padded padded(line);
  Document json;
  if (!json.walk(padded.view()) || json.find(json.root(), "offered") == openrtb::kAbsent) {
    return false;
  }
  const NodeId root = json.root();
  offered = whole(json, json.find(root, "offered"));
  dropped = whole(json, json.find(root, "dropped"));
  late = whole(json, json.find(root, "late"));
  rate_achieved = number(json.raw(json.find(root, "rate_achieved")));
  answers = members_of<uint64_t>(json, json.find(root, "answers"));
  latency_ms = members_of<double>(json, json.find(root, "latency_ms"));
  history_.push_back(answers);
  if (history_.size() > kRecent + 1) {
    history_.pop_front();
  }
  recent.clear();
  for (const auto& [kind, count] : answers) {
    const uint64_t before = history_.size() == 1 ? 0 : history_.front()[kind];
    recent[kind] = count - std::min(before, count);
  }
  return true;
}

bool DemoState::on_circuits(std::string_view body) {
  const openrtb::Padded padded(body);
  Document json;
  if (!json.walk(padded.view()) || !json.is(json.find(json.root(), "circuits"), Kind::kArray)) {
    return false;
  }
  circuits.clear();
  for (const NodeId node : json.children(json.find(json.root(), "circuits"))) {
    circuits.push_back({.key = json.string(json.find(node, "key")),
                        .state = json.string(json.find(node, "state")),
                        .admit_ratio = number(json.raw(json.find(node, "admit_ratio"))),
                        .in_flight = json.integer(json.find(node, "in_flight")).value_or(0),
                        .p50_ms = number(json.raw(json.find(node, "p50_ms"))),
                        .p90_ms = number(json.raw(json.find(node, "p90_ms"))),
                        .outcomes = members_of<uint64_t>(json, json.find(node, "outcomes")),
                        .refused = members_of<uint64_t>(json, json.find(node, "refused"))});
  }
  return true;
}

void DemoState::on_metrics(std::string_view body) {
  auctions = 0;
  deadline_misses = 0;
  late_dsp_answers = 0;
  while (!body.empty()) {
    const size_t end = body.find('\n');
    const std::string_view line = body.substr(0, end);
    body = end == std::string_view::npos ? "" : body.substr(end + 1);
    const std::string_view name = line.substr(0, line.find_first_of("{ "));
    const auto value = static_cast<uint64_t>(number(line.substr(line.rfind(' ') + 1)));
    if (name == "spillway_exchange_auctions_total") {
      auctions += value;
    } else if (name == "spillway_exchange_deadline_misses_total") {
      deadline_misses += value;
    } else if (name == "spillway_exchange_late_dsp_answers_total") {
      late_dsp_answers += value;
    }
  }
}

double DemoState::first(std::string_view dsp, std::string_view state, double from_s) const {
  for (const auto& event : events) {
    if (event.at_s >= from_s && event.to == state && event.key.starts_with(dsp) &&
        event.key.substr(dsp.size()).starts_with('/')) {
      return event.at_s;
    }
  }
  return -1;
}

}  // namespace spillway::app
