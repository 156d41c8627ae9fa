#include "app/scenario/compare.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/scenario/record.h"
#include "app/scenario/scenario.h"
#include "app/scenario/values.h"
#include "app/scenario/verdict.h"
#include "openrtb/document.h"

namespace spillway::app {

namespace {

using openrtb::json_string;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A circuit may still open for calls that began under the fault.
constexpr double kAfterglowS = 2;

double end_of(const Scenario& scenario, const Record& record, size_t fault) {
  const auto& step = scenario.steps[fault];
  for (size_t i = fault + 1; i < scenario.steps.size(); ++i) {
    const auto& later = scenario.steps[i];
    if (later.kind == ScenarioStep::Kind::kClear && (later.dsp == step.dsp || later.dsp == "*")) {
      return record.snapshots.at(later.name).at_s;
    }
  }
  return record.snapshots.at("end").at_s;
}

double first_after(const Record& record, std::string_view dsp, std::string_view to, double from_s,
                   double until_s) {
  for (const auto& change : record.changes) {
    if (change.dsp == dsp && change.to == to && change.at_s >= from_s && change.at_s <= until_s) {
      return change.at_s - from_s;
    }
  }
  return std::numeric_limits<double>::infinity();
}

double of_run(const Record& record, std::string_view value, std::string_view of = "") {
  Expectation expect;
  expect.value = value;
  expect.of = of;
  return measure(record, expect);
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? kNan : values[values.size() / 2];
}

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
}

}  // namespace

OptionFigures figures_of(const Scenario& scenario, const ScenarioOption& option,
                         const Record& record, const Record& calm) {
  OptionFigures out{.name = option.name};
  out.revenue_cpm = of_run(record, "revenue_cpm");
  out.revenue_kept_ratio = out.revenue_cpm / of_run(calm, "revenue_cpm");
  out.added_p50_ms = of_run(record, "answer_p50_ms") - of_run(calm, "answer_p50_ms");
  out.added_p99_ms = of_run(record, "answer_p99_ms") - of_run(calm, "answer_p99_ms");
  out.timeouts_ratio = of_run(record, "outcome_ratio", "timeout");
  std::vector<double> detections;
  double excused = 0;
  for (size_t i = 0; i < scenario.steps.size(); ++i) {
    const auto& step = scenario.steps[i];
    if (step.kind != ScenarioStep::Kind::kFault || !option.faults) {
      continue;
    }
    const double from_s = record.snapshots.at(step.name).at_s;
    const double to_s = end_of(scenario, record, i);
    FaultFigures fault{.step = step.name, .dsp = step.dsp};
    fault.opened_s = first_after(record, step.dsp, "open", from_s, to_s + kAfterglowS);
    fault.closed_s = kNan;
    if (std::isfinite(fault.opened_s)) {
      detections.push_back(fault.opened_s);
      fault.closed_s =
          first_after(record, step.dsp, "closed", to_s, record.snapshots.at("end").at_s);
      out.recovery_s = std::max(out.recovery_s, fault.closed_s);
    }
    out.undetected += std::isfinite(fault.opened_s) ? 0 : 1;
    // Until it is closed again, a circuit that opens does so for this fault: a probe failed.
    const double over_s =
        to_s + (std::isnan(fault.closed_s) ? kAfterglowS : std::max(kAfterglowS, fault.closed_s));
    excused += static_cast<double>(std::ranges::count_if(record.changes, [&](const auto& change) {
      return change.to == "open" && change.dsp == step.dsp && change.at_s >= from_s &&
             change.at_s <= over_s;
    }));
    out.faults.push_back(fault);
  }
  out.detection_s = median_of(detections);
  out.recovery_s = detections.empty() ? kNan : out.recovery_s;
  out.false_opens = of_run(record, "opens") - excused;
  return out;
}

std::string comparison_text(const std::vector<OptionFigures>& all) {
  std::string out = fmt::format("{:<40} {:>8} {:>9} {:>9} {:>10} {:>10} {:>8} {:>11} {:>9}\n",
                                "option", "revenue", "p50 added", "p99 added", "detection",
                                "undetected", "false", "recovery", "timeouts");
  out += fmt::format("{:<40} {:>8} {:>9} {:>9} {:>10} {:>10} {:>8} {:>11} {:>9}\n", "", "kept",
                     "ms", "ms", "median s", "faults", "opens", "worst s", "of calls");
  for (const auto& one : all) {
    if (!one.missing.empty()) {
      out += fmt::format("{:<40} {}\n", one.name, one.missing);
      continue;
    }
    out += fmt::format("{:<40} {:>7.1f}% {:>9.1f} {:>9.1f} {:>10} {:>10} {:>8} {:>11} {:>8.2f}%\n",
                       one.name, 100 * one.revenue_kept_ratio, one.added_p50_ms, one.added_p99_ms,
                       std::isnan(one.detection_s) ? "-" : measured_text(one.detection_s),
                       one.undetected, one.false_opens,
                       std::isnan(one.recovery_s) ? "-" : measured_text(one.recovery_s),
                       100 * one.timeouts_ratio);
  }
  return out;
}

std::string comparison_json(const std::vector<OptionFigures>& all) {
  std::string out = R"({"options":[)";
  for (const auto& one : all) {
    out +=
        fmt::format(R"({}{{"name":{},"missing":{},"revenue_cpm":{},"revenue_kept_ratio":{},)"
                    R"("added_p50_ms":{},"added_p99_ms":{},"detection_s":{},"undetected":{},)"
                    R"("false_opens":{},"recovery_s":{},"timeouts_ratio":{},"faults":[)",
                    out.back() == '[' ? "" : ",", json_string(one.name), json_string(one.missing),
                    json_number(one.revenue_cpm), json_number(one.revenue_kept_ratio),
                    json_number(one.added_p50_ms), json_number(one.added_p99_ms),
                    json_number(one.detection_s), one.undetected, one.false_opens,
                    json_number(one.recovery_s), json_number(one.timeouts_ratio));
    for (const auto& fault : one.faults) {
      out +=
          fmt::format(R"({}{{"step":{},"dsp":{},"opened_s":{},"closed_s":{}}})",
                      out.back() == '[' ? "" : ",", json_string(fault.step), json_string(fault.dsp),
                      json_number(fault.opened_s), json_number(fault.closed_s));
    }
    out += "]}";
  }
  return out + "]}\n";
}

}  // namespace spillway::app
