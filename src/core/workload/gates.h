#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/rate_profile.h"

namespace spillway::workload {

/// A measured figure under the name gates use. NaN: not measured, which passes no gate.
struct Figure {
  std::string_view name;
  double value = std::numeric_limits<double>::quiet_NaN();
};

/// One demand on a figure.
struct Gate {
  enum class Relation : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual, kWithin };

  std::string figure;
  Relation relation = Relation::kLess;
  double bound = 0;  ///< The lower one of kWithin.
  double high = 0;   ///< The upper one of kWithin, both included.
  std::string text;  ///< As written.
  int line = 0;
};

struct GateResult {
  Gate gate;
  double value = 0;
  bool passed = false;
};

inline constexpr size_t kGatesMax = 1000;

/// Lines "p99_ms < 25", "achieved_ratio >= 0.99", "bid_ratio within 0.6..0.8"; blank ones and what
/// follows a # are skipped. All that is wrong is reported, each with its line. `figures`: the names
/// there are.
[[nodiscard]] base::Result<std::vector<Gate>, std::vector<LineProblem>> parse_gates(
    std::string_view text, std::span<const std::string_view> figures);

/// In the order of the gates.
[[nodiscard]] std::vector<GateResult> check_gates(const std::vector<Gate>& gates,
                                                  std::span<const Figure> figures);

}  // namespace spillway::workload
