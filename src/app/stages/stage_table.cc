#include "app/stages/stage_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace spillway::app {
namespace {

struct Totals {
  std::string stage;
  double sum_s = 0;
  double count = 0;
};

// The order of a request through a bidder; a page is sorted by name.
constexpr std::array<std::string_view, 10> kOrder{
    "validate", "shed", "enrich", "retrieve", "score", "cap", "pace", "price", "choose", "build"};

size_t place_of(std::string_view stage) {
  return static_cast<size_t>(std::ranges::find(kOrder, stage) - kOrder.begin());
}

Totals& of(std::vector<Totals>& totals, std::string_view stage) {
  const auto found = std::ranges::find(totals, stage, &Totals::stage);
  if (found != totals.end()) {
    return *found;
  }
  return totals.emplace_back(Totals{.stage = std::string(stage), .sum_s = 0, .count = 0});
}

std::vector<Totals> read(std::string_view page) {
  constexpr std::string_view kSum = "_stage_seconds_sum{";
  constexpr std::string_view kCount = "_stage_seconds_count{";
  constexpr std::string_view kLabel = "stage=\"";
  std::vector<Totals> totals;
  while (!page.empty()) {
    const size_t end = page.find('\n');
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(end == std::string_view::npos ? page.size() : end + 1);
    const bool is_sum = line.contains(kSum);
    const size_t label = line.find(kLabel);
    const size_t space = line.rfind(' ');
    if ((!is_sum && !line.contains(kCount)) || line.starts_with('#') ||
        label == std::string_view::npos || space == std::string_view::npos) {
      continue;
    }
    const std::string_view rest = line.substr(label + kLabel.size());
    const double value = std::strtod(std::string(line.substr(space + 1)).c_str(), nullptr);
    Totals& stage = of(totals, rest.substr(0, rest.find('"')));
    (is_sum ? stage.sum_s : stage.count) = std::isfinite(value) ? std::max(value, 0.0) : 0;
  }
  return totals;
}

double grown(double before, double after) { return after < before ? after : after - before; }

}  // namespace

std::vector<StageRow> stages_between(std::string_view before, std::string_view after) {
  auto first = read(before);
  std::vector<StageRow> rows;
  double all_s = 0;
  std::vector<double> spent_s;
  for (const auto& last : read(after)) {
    const Totals& begun = of(first, last.stage);
    const double count = grown(begun.count, last.count);
    const double sum_s = grown(begun.sum_s, last.sum_s);
    all_s += sum_s;
    spent_s.push_back(sum_s);
    rows.push_back({.stage = last.stage,
                    .calls = static_cast<uint64_t>(count),
                    .mean_us = count > 0 ? sum_s / count * 1e6 : 0,
                    .share_ratio = 0});
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].share_ratio = all_s > 0 ? spent_s[i] / all_s : 0;
  }
  std::ranges::stable_sort(rows, {}, [](const StageRow& row) { return place_of(row.stage); });
  return rows;
}

std::string table_text(const std::vector<StageRow>& rows) {
  std::string out =
      fmt::format("{:<10} {:>12} {:>12} {:>8}\n", "stage", "calls", "mean us", "share %");
  for (const auto& row : rows) {
    out += fmt::format("{:<10} {:>12} {:>12.2f} {:>8.1f}\n", row.stage, row.calls, row.mean_us,
                       row.share_ratio * 100);
  }
  return out;
}

std::string table_json(const std::vector<StageRow>& rows) {
  std::string out = "[";
  for (const auto& row : rows) {
    out +=
        fmt::format(R"({}{{"stage":"{}","calls":{},"mean_us":{:.3f},"share_ratio":{:.4f}}})",
                    out.size() == 1 ? "" : ",", row.stage, row.calls, row.mean_us, row.share_ratio);
  }
  return out + "]\n";
}

}  // namespace spillway::app
