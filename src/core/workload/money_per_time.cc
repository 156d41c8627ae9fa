#include "workload/money_per_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "base/decimal.h"
#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/padded.h"

namespace spillway::workload {

namespace {

constexpr std::array<std::string_view, 4> kWords = {"daily", "hourly", "weekly", "monthly"};
constexpr std::array<std::string_view, 4> kEndings = {"per_second", "per_minute", "per_hour",
                                                      "per_day"};

}  // namespace

bool is_per_time(std::string_view name) {
  if (std::any_of(kEndings.begin(), kEndings.end(),
                  [name](std::string_view ending) { return name.ends_with(ending); })) {
    return true;
  }
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find('_'));
    if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) {
      return true;
    }
    name.remove_prefix(std::min(word.size() + 1, name.size()));
  }
  return false;
}

std::string money_per_time_rescaled(std::string_view text, double time_scale,
                                    openrtb::Document& document) {
  const openrtb::Padded padded(text);
  if (time_scale == 1 || !document.walk(padded.view())) {
    return std::string(text);
  }
  openrtb::EditList edits(document);
  for (openrtb::NodeId id = 0; id < document.size(); ++id) {
    if (!document.is(id, openrtb::Kind::kNumber) || !is_per_time(document.name(id))) {
      continue;
    }
    const auto micros = base::parse_micros(document.raw(id), base::Rounding::kDown);
    if (!micros) {
      continue;
    }
    const double scaled = static_cast<double>(*micros) / time_scale;
    if (std::abs(scaled) < 9e18) {
      std::string number;
      base::append_micros(number, std::llround(scaled));
      edits.replace(id, number);
    }
  }
  return edits.bytes();
}

}  // namespace spillway::workload
