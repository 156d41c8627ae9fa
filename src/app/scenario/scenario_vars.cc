// Names in a scenario's texts, and how an expectation is said.
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/scenario/scenario.h"

namespace spillway::app {

namespace {

bool in_name(char c, bool first) {
  return (c >= 'a' && c <= 'z') || c == '_' || (!first && ((c >= '0' && c <= '9') || c == '-'));
}

}  // namespace

std::string with_vars(std::string_view text, const ScenarioVars& vars,
                      std::vector<std::pair<std::string, int>>* unknown) {
  std::string out;
  int line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    line += text[i] == '\n' ? 1 : 0;
    size_t end = i + 1;
    while (text[i] == '$' && end < text.size() && in_name(text[end], end == i + 1)) {
      ++end;
    }
    if (end == i + 1) {
      out += text[i];
      continue;
    }
    const std::string name(text.substr(i + 1, end - i - 1));
    const auto found = vars.find(name);
    if (found != vars.end()) {
      out += found->second;
    } else {
      out += text.substr(i, end - i);
      if (unknown != nullptr) {
        unknown->emplace_back(name, line);
      }
    }
    i = end - 1;
  }
  return out;
}

std::string Scenario::exchange_text(const ScenarioVars& changed,
                                    const ScenarioVars& addresses) const {
  ScenarioVars all = changed;
  all.insert(vars.begin(), vars.end());
  all.insert(addresses.begin(), addresses.end());
  return with_vars(exchange, all);
}

std::string Expectation::subject() const {
  std::string out = value;
  if (!dsp.empty()) {
    out += " of " + dsp;
  }
  if (!except.empty()) {
    out += " of all but " + except;
  }
  if (!of.empty()) {
    out += " " + of;
  }
  if (from != "start" || to != "end") {
    out += fmt::format(", {} to {}", from, to);
  }
  return out;
}

std::string Expectation::wanted() const {
  if (min && max) {
    return *min == *max ? fmt::format("{:g}", *min) : fmt::format("{:g} to {:g}", *min, *max);
  }
  return min ? fmt::format(">= {:g}", *min) : fmt::format("<= {:g}", max.value_or(0));
}

bool Expectation::met_by(double measured) const {
  return !std::isnan(measured) && (!min || measured >= *min) && (!max || measured <= *max);
}

}  // namespace spillway::app
