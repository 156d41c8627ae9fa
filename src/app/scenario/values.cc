#include "app/scenario/values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/scenario/record.h"
#include "app/scenario/scenario.h"

namespace spillway::app {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kNever = std::numeric_limits<double>::infinity();

struct Window {
  const Snapshot* from;
  const Snapshot* to;
};

Window window_of(const Record& record, const Expectation& expect) {
  return {.from = &record.snapshots.at(expect.from), .to = &record.snapshots.at(expect.to)};
}

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, value);
}

/// What `name` of the exchange grew by, of the DSP, or of all but one, or of all.
double grown(const Record& record, const Expectation& expect, std::string_view name,
             std::vector<std::string> parts = {}, Metrics Snapshot::* page = &Snapshot::exchange) {
  const Window window = window_of(record, expect);
  const auto sum = [&](const std::vector<std::string>& with) {
    return sum_of(window.to->*page, name, with) - sum_of(window.from->*page, name, with);
  };
  if (!expect.except.empty()) {
    auto excepted = parts;
    excepted.push_back(label("dsp", expect.except));
    return sum(parts) - sum(excepted);
  }
  if (!expect.dsp.empty()) {
    parts.push_back(label("dsp", expect.dsp));
  }
  return sum(parts);
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : kUnknown; }

/// What a number of the load's report grew by.
double load_grown(const Record& record, const Expectation& expect, std::string_view name) {
  const Window window = window_of(record, expect);
  return value_of(window.to->load, name) - value_of(window.from->load, name);
}

double answers_ratio(const Record& record, const Expectation& expect,
                     const std::vector<std::string_view>& kinds) {
  double sum = 0;
  for (const auto kind : kinds) {
    sum += load_grown(record, expect, fmt::format("answers.{}", kind));
  }
  return ratio(sum, load_grown(record, expect, "ended"));
}

bool concerns(const Change& change, const Expectation& expect) {
  return (expect.dsp.empty() || change.dsp == expect.dsp) &&
         (expect.except.empty() || change.dsp != expect.except);
}

double count_changes(const Record& record, const Expectation& expect, std::string_view to) {
  const Window window = window_of(record, expect);
  return static_cast<double>(std::ranges::count_if(record.changes, [&](const Change& change) {
    return change.at_s >= window.from->at_s && change.at_s <= window.to->at_s && change.to == to &&
           concerns(change, expect);
  }));
}

double first_change(const Record& record, const Expectation& expect, std::string_view to) {
  const Window window = window_of(record, expect);
  for (const Change& change : record.changes) {
    if (change.at_s >= window.from->at_s && change.at_s <= window.to->at_s && change.to == to &&
        concerns(change, expect)) {
      return change.at_s - window.from->at_s;
    }
  }
  return kNever;
}

double misses(const Record& record, const Expectation& expect) {
  const Window window = window_of(record, expect);
  return grown(record, expect, "spillway_exchange_deadline_misses_total") -
         (window.to->excused_misses - window.from->excused_misses);
}

double shed(const Record& record, const Expectation& expect) {
  return grown(record, expect, "spillway_exchange_shed_total");
}

/// Auctions carried out in full: cleared, not shed.
double served(const Record& record, const Expectation& expect) {
  return grown(record, expect, "spillway_exchange_auctions_total") - shed(record, expect);
}

double answer_time(const Record& record, const Expectation& expect, double quantile) {
  const Window window = window_of(record, expect);
  return quantile_ms(window.from->exchange, window.to->exchange,
                     "spillway_exchange_answer_time_seconds", {}, quantile);
}

/// CPU of a refused request over that of a served one.
double refusal_cost(const Record& record, const Expectation& expect) {
  const Window window = window_of(record, expect);
  const double cpu_s = window.to->exchange_cpu.ran_s - window.from->exchange_cpu.ran_s;
  const double of_refusals = cpu_s / record.auction_cpu_s - served(record, expect);
  return std::max(0.0, ratio(of_refusals, shed(record, expect)));
}

double goodput(const Record& record, const Expectation& expect) {
  const Window window = window_of(record, expect);
  const double r = refusal_cost(record, expect);
  // Refusals that would take all there is leave nothing to be asked for; their cost is judged by
  // a bar of its own.
  constexpr double kLeast = 0.01;
  const double left = std::max(kLeast, (1 - record.times_capacity * r) / std::max(kLeast, 1 - r));
  return ratio(served(record, expect) / (window.to->at_s - window.from->at_s),
               record.capacity_rate * left);
}

double unaccounted(const Record& record, const Expectation& expect) {
  double sum = 0;
  for (const auto& [dsp, price] : record.prices) {
    Expectation one = expect;
    one.dsp = dsp;
    one.except.clear();
    if ((expect.dsp.empty() || expect.dsp == dsp) && expect.except != dsp) {
      sum += std::abs(grown(record, one, "spillway_farm_calls_total", {}, &Snapshot::farm) -
                      grown(record, one, "spillway_exchange_client_events_total",
                            {label("event", "request_sent")}));
    }
  }
  return sum;
}

double revenue(const Record& record, const Expectation& expect) {
  double sum = 0;
  for (const auto& [dsp, price] : record.prices) {
    Expectation one = expect;
    one.dsp = dsp;
    sum += price * grown(record, one, "spillway_exchange_dsp_wins_total");
  }
  return ratio(sum, grown(record, expect, "spillway_exchange_auctions_total"));
}

std::vector<ScenarioValue> callers_values() {
  return {
      {.name = "answered_ratio",
       .meaning = "requests sent that got a bid, a house ad or a no-bid",
       .measure =
           [](auto& record, auto& expect) {
             return answers_ratio(record, expect, {"bid", "house", "no_bid"});
           }},
      {.name = "bid_ratio",
       .meaning = "requests sent that got a bid",
       .measure = [](auto& record,
                     auto& expect) { return answers_ratio(record, expect, {"bid"}); }},
      {.name = "unanswered",
       .meaning = "requests sent that got no whole answer, an error or no bid response",
       .measure =
           [](auto& record, auto& expect) {
             return load_grown(record, expect, "answers.none") +
                    load_grown(record, expect, "answers.error") +
                    load_grown(record, expect, "answers.invalid");
           }},
      {.name = "cut_off",
       .meaning = "requests sent whose connection ended, or whose time was up, before an answer",
       .measure =
           [](auto& record, auto& expect) {
             return load_grown(record, expect, "endings.reset.count") +
                    load_grown(record, expect, "endings.timeout.count") +
                    load_grown(record, expect, "endings.other.count");
           }},
      {.name = "dropped_ratio",
       .meaning = "arrivals never sent, as every connection was waiting for an answer",
       .measure =
           [](auto& record, auto& expect) {
             return ratio(load_grown(record, expect, "dropped"),
                          load_grown(record, expect, "offered"));
           }},
      {.name = "callers_p99_ms",
       .meaning = "99th percentile of callers' latency from the due time, whole run",
       .measure =
           [](auto& record, auto&) {
             return value_of(record.snapshots.at("end").load, "latency_ms.p99");
           }},
  };
}

std::vector<ScenarioValue> exchange_values() {
  return {
      {.name = "deadline_misses",
       .meaning = "answers after the deadline, but for moments in which the machine kept the "
                  "exchange from a processor",
       .measure = misses},
      {.name = "deadline_miss_ratio",
       .meaning = "the same, of all auctions",
       .measure =
           [](auto& record, auto& expect) {
             return ratio(misses(record, expect),
                          grown(record, expect, "spillway_exchange_auctions_total"));
           }},
      {.name = "answer_p50_ms",
       .meaning = "median time from a request's first byte to its answer",
       .measure = [](auto& record, auto& expect) { return answer_time(record, expect, 0.5); }},
      {.name = "answer_p99_ms",
       .meaning = "99th percentile of the same",
       .measure = [](auto& record, auto& expect) { return answer_time(record, expect, 0.99); }},
      {.name = "auctions",
       .meaning = "auctions begun",
       .measure =
           [](auto& record, auto& expect) {
             return grown(record, expect, "spillway_exchange_auctions_total");
           }},
      {.name = "shed_ratio",
       .meaning = "requests shed, of those shed and served",
       .measure =
           [](auto& record, auto& expect) {
             const double refused = shed(record, expect);
             return ratio(refused, refused + served(record, expect));
           }},
      {.name = "reloads",
       .meaning = "reloads of the configuration",
       .of = "done or refused",
       .measure =
           [](auto& record, auto& expect) {
             return grown(record, expect, "spillway_exchange_reloads_total",
                          {label("result", expect.of)});
           }},
      {.name = "memory_ratio",
       .meaning = "resident memory of the exchange at `to` over that at `from`",
       .measure =
           [](auto& record, auto& expect) {
             const Window window = window_of(record, expect);
             return ratio(window.to->resident_bytes, window.from->resident_bytes);
           }},
      {.name = "exit_status",
       .meaning = "the exchange's; it is ended by SIGTERM after the load when no step has done so",
       .measure = [](auto& record, auto&) { return record.exit_status; }},
      {.name = "stop_s",
       .meaning = "seconds from SIGTERM to the exchange's end",
       .measure = [](auto& record, auto&) { return record.stop_s; }},
      {.name = "refusal_cost_ratio",
       .meaning = "CPU of a request shed over that of one served",
       .needs_quota = true,
       .measure = refusal_cost},
      {.name = "goodput_ratio",
       .meaning =
           "auctions served a second over what is left of capacity, (1 - m r) / (1 - r), at m "
           "times capacity and a refusal's cost r",
       .needs_quota = true,
       .measure = goodput},
  };
}

std::vector<ScenarioValue> circuits_values() {
  return {
      {.name = "opens",
       .meaning = "times that circuits opened",
       .of_dsp = true,
       .measure = [](auto& record, auto& expect) { return count_changes(record, expect, "open"); }},
      {.name = "opened_s",
       .meaning = "seconds from `from` until a circuit opened",
       .of_dsp = true,
       .measure = [](auto& record, auto& expect) { return first_change(record, expect, "open"); }},
      {.name = "closed_s",
       .meaning = "seconds from `from` until a circuit was closed again",
       .of_dsp = true,
       .measure = [](auto& record,
                     auto& expect) { return first_change(record, expect, "closed"); }},
      {.name = "alerts",
       .meaning = "alerts raised on a DSP's bids",
       .of_dsp = true,
       .measure = [](auto& record,
                     auto& expect) { return count_changes(record, expect, "raised"); }},
  };
}

std::vector<ScenarioValue> calls_values() {
  return {
      {.name = "asked_ratio",
       .meaning = "calls made, of those made and refused by a guard",
       .of_dsp = true,
       .measure =
           [](auto& record, auto& expect) {
             const double asked = grown(record, expect, "spillway_exchange_dsp_asked_total");
             return ratio(asked,
                          asked + grown(record, expect, "spillway_exchange_dsp_refused_total"));
           }},
      {.name = "outcome_ratio",
       .meaning = "calls with one outcome, of all made",
       .of_dsp = true,
       .of = "an outcome, such as timeout",
       .measure =
           [](auto& record, auto& expect) {
             return ratio(grown(record, expect, "spillway_exchange_dsp_outcomes_total",
                                {label("outcome", expect.of)}),
                          grown(record, expect, "spillway_exchange_dsp_outcomes_total"));
           }},
      {.name = "host_call_ratio",
       .meaning = "calls that came to one address of a DSP, of all it got",
       .of_dsp = true,
       .of = "an address, such as 127.0.0.2",
       .measure =
           [](auto& record, auto& expect) {
             return ratio(
                 grown(record, expect, "spillway_farm_host_calls_total", {label("host", expect.of)},
                       &Snapshot::farm),
                 grown(record, expect, "spillway_farm_host_calls_total", {}, &Snapshot::farm));
           }},
      {.name = "calls",
       .meaning = "calls sent to DSPs, repeated ones each time",
       .of_dsp = true,
       .measure =
           [](auto& record, auto& expect) {
             return grown(record, expect, "spillway_exchange_client_events_total",
                          {label("event", "request_sent")});
           }},
      {.name = "host_ejections",
       .meaning = "times that an address of a DSP was left out for doing worse than its peers",
       .of_dsp = true,
       .measure =
           [](auto& record, auto& expect) {
             return grown(record, expect, "spillway_exchange_dsp_host_ejections_total");
           }},
      {.name = "unaccounted_calls",
       .meaning = "sum over DSPs of the difference between calls that the farm read and that the "
                  "exchange sent",
       .of_dsp = true,
       .measure = unaccounted},
      {.name = "revenue_cpm",
       .meaning = "price of the winning bids an auction, each DSP at its highest price",
       .measure = revenue},
  };
}

}  // namespace

const std::vector<ScenarioValue>& scenario_values() {
  static const std::vector<ScenarioValue> all_values = [] {
    auto all = callers_values();
    for (auto* more : {exchange_values, circuits_values, calls_values}) {
      for (const auto& value : more()) {
        all.push_back(value);
      }
    }
    return all;
  }();
  return all_values;
}

const ScenarioValue* scenario_value(std::string_view name) {
  const auto& all = scenario_values();
  const auto found = std::ranges::find(all, name, &ScenarioValue::name);
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string_view> scenario_value_names() {
  std::vector<std::string_view> names;
  for (const auto& value : scenario_values()) {
    names.push_back(value.name);
  }
  return names;
}

double measure(const Record& record, const Expectation& expect) {
  const ScenarioValue* const value = scenario_value(expect.value);
  const bool seen = record.snapshots.contains(expect.from) && record.snapshots.contains(expect.to);
  return value == nullptr || !seen ? kUnknown : value->measure(record, expect);
}

}  // namespace spillway::app
