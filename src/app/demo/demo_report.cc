#include "app/demo/demo_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "app/demo/demo_plan.h"
#include "app/demo/demo_state.h"
#include "openrtb/document.h"

namespace spillway::app {

namespace {

constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kPlain = "\033[0m";
constexpr size_t kEventsShown = 12;

uint64_t value_of(const std::map<std::string, uint64_t>& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

std::string_view color_of(std::string_view state) {
  if (state == "closed") {
    return "\033[32m";
  }
  return state == "open" ? "\033[1;31m" : "\033[33m";
}

double percent(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

uint64_t sum_of(const std::map<std::string, uint64_t>& counts) {
  uint64_t all = 0;
  for (const auto& [name, count] : counts) {
    all += count;
  }
  return all;
}

double latency(const DemoState& state, const std::string& name) {
  const auto found = state.latency_ms.find(name);
  return found == state.latency_ms.end() ? 0 : found->second;
}

std::string bar(double ratio, size_t width) {
  const auto filled = static_cast<size_t>(std::clamp(ratio, 0.0, 1.0) * static_cast<double>(width));
  return std::string(filled, '#') + std::string(width - filled, '.');
}

std::string event_text(const DemoEvent& event) {
  if (event.key.empty()) {
    return fmt::format("{:6.1f} s  {}", event.at_s, event.text);
  }
  return fmt::format("{:6.1f} s  {}: {} -> {}  {}  {}", event.at_s, event.key, event.from, event.to,
                     event.rule, event.text);
}

std::string circuit_line(const DemoCircuit& circuit) {
  const auto& outcomes = circuit.outcomes;
  uint64_t other = 0;
  for (const auto& [name, count] : outcomes) {
    other += name == "ok" || name == "slow" || name == "timeout" || name == "short" ? 0 : count;
  }
  return fmt::format(
      "{:<10}{}{:<10}{}{:>6.0f} %{:>10}{:>8.0f}{:>8.0f}{:>10}{:>8}{:>9}{:>8}{:>10}\n",
      circuit.dsp(), color_of(circuit.state), circuit.state, kPlain, 100 * circuit.admit_ratio,
      circuit.in_flight, circuit.p50_ms, circuit.p90_ms, value_of(outcomes, "ok"),
      value_of(outcomes, "slow"), value_of(outcomes, "timeout") + value_of(outcomes, "short"),
      other, value_of(circuit.refused, "520"));
}

void append_counts(std::string& out, const std::map<std::string, uint64_t>& counts) {
  out += '{';
  for (const auto& [name, count] : counts) {
    out += fmt::format(R"({}"{}":{})", out.back() == '{' ? "" : ",", name, count);
  }
  out += '}';
}

void append_event(std::string& out, const DemoEvent& event) {
  out += fmt::format(R"({}{{"at_s":{:.2f},"key":"{}","from":"{}","to":"{}","rule":"{}","reason":)",
                     out.back() == '[' ? "" : ",", event.at_s, event.key, event.from, event.to,
                     event.rule);
  openrtb::append_json_string(out, event.text);
  out += '}';
}

}  // namespace

std::string failure_of(const DemoPlan& plan, const DemoState& state) {
  if (state.auctions == 0) {
    return "the exchange held no auction";
  }
  if (state.deadline_misses != 0) {
    return fmt::format("{} answers left after their deadline", state.deadline_misses);
  }
  const double opened = state.first(plan.slow_dsp, "open", plan.slow_from());
  if (opened < 0 || opened > plan.slow_to() + 1) {
    return fmt::format("the circuit of {} did not open while it was slow", plan.slow_dsp);
  }
  if (state.first(plan.slow_dsp, "closed", plan.slow_to()) < 0) {
    return fmt::format("the circuit of {} did not close again", plan.slow_dsp);
  }
  return "";
}

std::string screen_text(const DemoPlan& plan, const DemoState& state) {
  const uint64_t all = sum_of(state.recent);
  std::string out =
      fmt::format("{}Spillway demo{}  {:.0f} s of {} s  [{}]  {}{}\n\n", kBold, kPlain, state.now_s,
                  plan.seconds, bar(state.now_s / plan.seconds, 30), plan.guard_times(),
                  plan.shortened() ? "  (shortened: a run under 120 s)" : "");
  out += fmt::format(
      "auctions {:>9}   {:>6.0f}/s    last 3 s: bids {:4.1f} %   house ads {:4.1f} %   no bid "
      "{:4.1f} %\n",
      state.auctions, state.rate_achieved, percent(value_of(state.recent, "bid"), all),
      percent(value_of(state.recent, "house"), all),
      percent(value_of(state.recent, "no_bid"), all));
  out += fmt::format(
      "latency   p50 {:.0f} ms   p90 {:.0f} ms   p99 {:.0f} ms    deadline misses {}{}{}   late "
      "DSP "
      "answers {}\n\n",
      latency(state, "p50"), latency(state, "p90"), latency(state, "p99"),
      state.deadline_misses == 0 ? kBold : "\033[1;31m", state.deadline_misses, kPlain,
      state.late_dsp_answers);
  out += fmt::format("{:<10}{:<10}{:>8}{:>10}{:>8}{:>8}{:>10}{:>8}{:>9}{:>8}{:>10}\n", "DSP",
                     "circuit", "admits", "in flight", "p50 ms", "p90 ms", "ok", "slow", "timeout",
                     "other", "not asked");
  for (const auto& circuit : state.circuits) {
    out += circuit_line(circuit);
  }
  out += '\n';
  const size_t begin = state.events.size() > kEventsShown ? state.events.size() - kEventsShown : 0;
  for (size_t i = begin; i < state.events.size(); ++i) {
    out += event_text(state.events[i]) + "\n";
  }
  return out;
}

std::string progress_text(const DemoPlan& plan, const DemoState& state) {
  std::string circuits;
  for (const auto& circuit : state.circuits) {
    circuits += fmt::format(" {}={}", circuit.dsp(), circuit.state);
  }
  return fmt::format(
      "{:.0f}/{} s  auctions {}  bid {}  house {}  no_bid {}  misses {}  p99 {:.0f} ms {}",
      state.now_s, plan.seconds, state.auctions, value_of(state.answers, "bid"),
      value_of(state.answers, "house"), value_of(state.answers, "no_bid"), state.deadline_misses,
      latency(state, "p99"), circuits);
}

std::string summary_json(const DemoPlan& plan, const DemoState& state, const std::string& farm) {
  const std::string failure = failure_of(plan, state);
  std::string out = fmt::format(
      R"({{"ok":{},"why":"{}","seconds":{},"guard_times":"{}","guard_times_shortened":{},)"
      R"("auctions":{},"deadline_misses":{},"late_dsp_answers":{},"answers":)",
      failure.empty(), failure, plan.seconds, plan.guard_times(), plan.shortened(), state.auctions,
      state.deadline_misses, state.late_dsp_answers);
  append_counts(out, state.answers);
  out += R"(,"latency_ms":{)";
  for (const auto& [name, value] : state.latency_ms) {
    out += fmt::format(R"({}"{}":{:.3f})", out.back() == '{' ? "" : ",", name, value);
  }
  out += fmt::format(
      R"(}},"load":{{"rate":{},"offered":{},"dropped":{},"late":{}}},"slow_dsp":"{}",)"
      R"("slow_from_s":{:.1f},"slow_to_s":{:.1f},"opened_s":{:.2f},"closed_s":{:.2f},"transitions":[)",
      plan.rate, state.offered, state.dropped, state.late, plan.slow_dsp, plan.slow_from(),
      plan.slow_to(), state.first(plan.slow_dsp, "open", plan.slow_from()),
      state.first(plan.slow_dsp, "closed", plan.slow_to()));
  for (const auto& event : state.events) {
    if (!event.key.empty()) {
      append_event(out, event);
    }
  }
  out += R"(],"dsps":[)";
  for (const auto& circuit : state.circuits) {
    out += fmt::format(R"({}{{"key":"{}","state":"{}","p50_ms":{:.2f},"p90_ms":{:.2f},"outcomes":)",
                       out.back() == '[' ? "" : ",", circuit.key, circuit.state, circuit.p50_ms,
                       circuit.p90_ms);
    append_counts(out, circuit.outcomes);
    out += R"(,"refused":)";
    append_counts(out, circuit.refused);
    out += '}';
  }
  std::string_view farm_text = farm;
  if (farm.empty()) {
    farm_text = "null";
  }
  while (farm_text.ends_with('\n')) {
    farm_text.remove_suffix(1);
  }
  return out + R"(],"farm":)" + std::string(farm_text) + "}\n";
}

}  // namespace spillway::app
