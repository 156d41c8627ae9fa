#include "app/scenario/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/scenario/record.h"
#include "app/scenario/scenario.h"
#include "app/scenario/values.h"
#include "openrtb/document.h"

namespace spillway::app {

namespace {

using openrtb::json_string;

constexpr double kDroppedMost = 0.01;

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
}

constexpr size_t kShownChanges = 40;

std::string changes_text(const Record& record) {
  std::string out;
  for (const Change& change : record.changes | std::views::take(kShownChanges)) {
    out += fmt::format("  {:>7.1f} s  {} {}{}{}\n", change.at_s, change.dsp, change.to,
                       change.why.empty() ? "" : ": ", change.why);
  }
  if (record.changes.size() > kShownChanges) {
    out += fmt::format("  and {} changes more\n", record.changes.size() - kShownChanges);
  }
  return out;
}

std::string changes_json(const Record& record) {
  std::string out = fmt::format(R"("changes_seen":{},"changes":[)", record.changes.size());
  for (const Change& change : record.changes | std::views::take(kShownChanges)) {
    out += fmt::format(R"({}{{"at_s":{:.3f},"dsp":{},"to":{},"why":{}}})",
                       out.back() == '[' ? "" : ",", change.at_s, json_string(change.dsp),
                       json_string(change.to), json_string(change.why));
  }
  return out + "]";
}

}  // namespace

std::vector<Finding> judge(const Scenario& scenario, const Record& record) {
  std::vector<Expectation> all = scenario.expect;
  if (std::ranges::find(all, "dropped_ratio", &Expectation::value) == all.end()) {
    all.push_back({.value = "dropped_ratio", .max = kDroppedMost});
  }
  std::vector<Finding> findings;
  for (const auto& expect : all) {
    const double measured = measure(record, expect);
    findings.push_back({.expect = expect, .measured = measured, .met = expect.met_by(measured)});
  }
  return findings;
}

bool all_met(const std::vector<Finding>& findings) {
  return std::ranges::all_of(findings, &Finding::met);
}

std::string measured_text(double measured) {
  if (std::isnan(measured)) {
    return "not measured";
  }
  return std::isinf(measured) ? "never" : fmt::format("{:.4g}", measured);
}

std::string findings_text(std::string_view name, const Scenario& scenario, const Record& record,
                          const std::vector<Finding>& findings) {
  size_t width = 5;
  for (const auto& finding : findings) {
    width = std::max(width, finding.expect.subject().size());
  }
  std::string out = fmt::format("{}: {}\n", name, scenario.about);
  out += fmt::format("  {:<{}}  {:<14}  {:<12}\n", "value", width, "expected", "measured");
  for (const auto& finding : findings) {
    out += fmt::format("  {:<{}}  {:<14}  {:<12}  {}\n", finding.expect.subject(), width,
                       finding.expect.wanted(), measured_text(finding.measured),
                       finding.met ? "met" : "NOT MET");
  }
  return all_met(findings) ? out : out + changes_text(record);
}

std::string findings_json(std::string_view name, bool shortened, const Record& record,
                          const std::vector<Finding>& findings, std::string_view why) {
  std::string out = fmt::format(R"({{"scenario":{},"short":{},"ok":{},"why":{})", json_string(name),
                                shortened, why.empty() && all_met(findings), json_string(why));
  if (record.capacity_rate > 0) {
    out += fmt::format(R"(,"capacity_rate":{:.1f},"auction_cpu_us":{:.1f})", record.capacity_rate,
                       record.auction_cpu_s * 1e6);
  }
  out += R"(,"findings":[)";
  for (const auto& finding : findings) {
    const auto& expect = finding.expect;
    out += fmt::format(
        R"({}{{"value":"{}","dsp":{},"except":{},"of":{},"from":{},"to":{},"min":{},"max":{},)"
        R"("measured":{},"met":{}}})",
        out.back() == '[' ? "" : ",", expect.value, json_string(expect.dsp),
        json_string(expect.except), json_string(expect.of), json_string(expect.from),
        json_string(expect.to), json_number(expect.min.value_or(NAN)),
        json_number(expect.max.value_or(NAN)), json_number(finding.measured), finding.met);
  }
  return out + "]," + changes_json(record) + "}";
}

}  // namespace spillway::app
