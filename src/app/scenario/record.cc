#include "app/scenario/record.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::app {

namespace {

bool number(std::string_view text, double& out) {
  if (text == "+Inf") {
    out = std::numeric_limits<double>::infinity();
    return true;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_series(std::string_view series, std::string_view name,
               const std::vector<std::string>& parts) {
  return series.starts_with(name) && (series.size() == name.size() || series[name.size()] == '{') &&
         std::ranges::all_of(parts, [&](const auto& part) { return series.contains(part); });
}

void add_numbers(const openrtb::Document& json, openrtb::NodeId node, const std::string& path,
                 Metrics& out) {
  for (const auto child : json.children(node)) {
    const auto& member = json.node(child);
    const std::string key(json.text().substr(member.key_begin, member.key_length));
    const std::string full = path.empty() ? key : fmt::format("{}.{}", path, key);
    double value = 0;
    if (json.is(child, openrtb::Kind::kObject)) {
      add_numbers(json, child, full, out);
    } else if (json.is(child, openrtb::Kind::kNumber) && number(json.raw(child), value)) {
      out[full] = value;
    }
  }
}

}  // namespace

Metrics parse_metrics(std::string_view page) {
  Metrics metrics;
  while (!page.empty()) {
    const size_t end = page.find('\n');
    const std::string_view line = page.substr(0, end);
    page = end == std::string_view::npos ? "" : page.substr(end + 1);
    const size_t space = line.rfind(' ');
    double value = 0;
    if (!line.empty() && line[0] != '#' && space != std::string_view::npos &&
        number(line.substr(space + 1), value)) {
      metrics[std::string(line.substr(0, space))] = value;
    }
  }
  return metrics;
}

Metrics parse_numbers(std::string_view json_text) {
  Metrics numbers;
  const openrtb::Padded padded(json_text);
  openrtb::Document json;
  if (json.walk(padded.view()) && json.is(json.root(), openrtb::Kind::kObject)) {
    add_numbers(json, json.root(), "", numbers);
  }
  return numbers;
}

double sum_of(const Metrics& metrics, std::string_view name,
              const std::vector<std::string>& parts) {
  double sum = 0;
  for (auto at = metrics.lower_bound(std::string(name));
       at != metrics.end() && at->first.starts_with(name); ++at) {
    sum += is_series(at->first, name, parts) ? at->second : 0;
  }
  return sum;
}

double value_of(const Metrics& metrics, std::string_view name) {
  const auto found = metrics.find(std::string(name));
  return found == metrics.end() ? 0 : found->second;
}

double quantile_ms(const Metrics& before, const Metrics& after, std::string_view name,
                   const std::vector<std::string>& parts, double ratio) {
  const std::string bucket = std::string(name) + "_bucket";
  std::map<double, double> counts;  // by bound, cumulative
  for (const auto& [series, value] : after) {
    const size_t at = series.find("le=\"");
    double bound = 0;
    if (at == std::string::npos || !is_series(series, bucket, parts) ||
        !number(std::string_view(series).substr(at + 4, series.find('"', at + 4) - at - 4),
                bound)) {
      continue;
    }
    counts[bound] += value - value_of(before, series);
  }
  if (counts.empty() || counts.rbegin()->second <= 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double wanted = ratio * counts.rbegin()->second;
  double low = 0;
  double seen = 0;
  for (const auto& [bound, count] : counts) {
    if (count >= wanted) {
      return 1e3 *
             (std::isinf(bound) ? low : low + (bound - low) * (wanted - seen) / (count - seen));
    }
    low = bound;
    seen = count;
  }
  return 1e3 * low;
}

}  // namespace spillway::app
