#include "workload/gates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/result.h"
#include "workload/rate_profile.h"

namespace spillway::workload {

namespace {

using Relation = Gate::Relation;

constexpr std::string_view kWhite = " \t\r";
constexpr std::array<std::pair<std::string_view, Relation>, 5> kRelations = {
    {{"<", Relation::kLess},
     {"<=", Relation::kLessEqual},
     {">", Relation::kGreater},
     {">=", Relation::kGreaterEqual},
     {"within", Relation::kWithin}}};

std::optional<double> number(std::string_view text) {
  constexpr double kMicros = 1e6;
  const auto micros = base::parse_micros(text, base::Rounding::kDown);
  return micros ? std::optional(static_cast<double>(*micros) / kMicros) : std::nullopt;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t begin = line.find_first_not_of(kWhite);
    if (begin == std::string_view::npos) {
      return words;
    }
    line.remove_prefix(begin);
    const size_t end = std::min(line.find_first_of(kWhite), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string unknown_figure(std::string_view name, std::span<const std::string_view> figures) {
  std::string out = "there is no figure " + quoted(name) + "; there are";
  for (const std::string_view figure : figures) {
    out += (figure == figures.front() ? " " : ", ") + std::string(figure);
  }
  return out;
}

/// The bound or bounds of a gate; a sentence when they are none.
base::Result<void, std::string> read_bounds(std::string_view text, Gate& gate) {
  if (gate.relation != Relation::kWithin) {
    const auto bound = number(text);
    if (!bound) {
      return std::unexpected("the bound must be a number, is " + quoted(text));
    }
    gate.bound = *bound;
    return {};
  }
  const size_t dots = text.find("..");
  const auto low = number(text.substr(0, dots));
  const auto high = dots == std::string_view::npos ? std::nullopt : number(text.substr(dots + 2));
  if (!low || !high) {
    return std::unexpected("the bounds must be two numbers such as 0.6..0.8, are " + quoted(text));
  }
  if (*low > *high) {
    return std::unexpected("the lower bound is above the upper one in " + quoted(text));
  }
  gate.bound = *low;
  gate.high = *high;
  return {};
}

base::Result<Gate, std::string> parse_gate(std::string_view line,
                                           std::span<const std::string_view> figures) {
  const auto words = words_of(line);
  if (words.size() != 3) {
    return std::unexpected("must be \"figure < number\" or \"figure within low..high\"");
  }
  if (std::find(figures.begin(), figures.end(), words[0]) == figures.end()) {
    return std::unexpected(unknown_figure(words[0], figures));
  }
  const auto* const relation =
      std::find_if(kRelations.begin(), kRelations.end(),
                   [&](const auto& known) { return known.first == words[1]; });
  if (relation == kRelations.end()) {
    return std::unexpected("must compare by <, <=, >, >= or within, not by " + quoted(words[1]));
  }
  Gate gate{
      .figure = std::string(words[0]),
      .relation = relation->second,
      .text = std::string(words[0]) + " " + std::string(words[1]) + " " + std::string(words[2])};
  const auto bounds = read_bounds(words[2], gate);
  return bounds ? base::Result<Gate, std::string>(std::move(gate))
                : std::unexpected(bounds.error());
}

bool holds(const Gate& gate, double value) {
  switch (gate.relation) {
    case Relation::kLess:
      return value < gate.bound;
    case Relation::kLessEqual:
      return value <= gate.bound;
    case Relation::kGreater:
      return value > gate.bound;
    case Relation::kGreaterEqual:
      return value >= gate.bound;
    case Relation::kWithin:
      return value >= gate.bound && value <= gate.high;
  }
  return false;
}

}  // namespace

base::Result<std::vector<Gate>, std::vector<LineProblem>> parse_gates(
    std::string_view text, std::span<const std::string_view> figures) {
  std::vector<Gate> gates;
  std::vector<LineProblem> problems;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    const std::string_view line = whole.substr(0, whole.find('#'));
    if (line.find_first_not_of(kWhite) == std::string_view::npos) {
      continue;
    }
    auto gate = parse_gate(line, figures);
    if (!gate) {
      problems.push_back({number, gate.error()});
    } else if (gates.size() == kGatesMax) {
      problems.push_back({number, "more than 1000 gates"});
      break;
    } else {
      gate->line = number;
      gates.push_back(std::move(*gate));
    }
  }
  if (gates.empty() && problems.empty()) {
    problems.push_back({0, "no gate: an empty file would pass everything"});
  }
  return problems.empty() ? base::Result<std::vector<Gate>, std::vector<LineProblem>>(gates)
                          : std::unexpected(problems);
}

std::vector<GateResult> check_gates(const std::vector<Gate>& gates,
                                    std::span<const Figure> figures) {
  std::vector<GateResult> results;
  results.reserve(gates.size());
  for (const Gate& gate : gates) {
    const auto figure = std::find_if(figures.begin(), figures.end(), [&](const Figure& known) {
      return known.name == gate.figure;
    });
    const double value = figure == figures.end() ? std::nan("") : figure->value;
    results.push_back({.gate = gate, .value = value, .passed = holds(gate, value)});
  }
  return results;
}

}  // namespace spillway::workload
