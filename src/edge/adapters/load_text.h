#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace spillway::adapters {

/// What a server has done since it started, and does now. Counts may begin anew at any time.
struct LoadCounts {
  double requests = 0;   ///< All that came.
  double successes = 0;  ///< Answered well and in time.
  double failures = 0;   ///< Refused, late, broken.
  double in_flight = 0;  ///< Not answered yet.
  double limit = 0;      ///< Most that may be in flight; 0: not known.
  double p95_ms = 0;     ///< Of the answers of about the last second; 0: not known.
};

enum class LoadErrc : uint8_t {
  kUnreachable,  ///< No connection, or it broke.
  kTimeout,
  kStatus,     ///< An answer that is not 200.
  kMalformed,  ///< Not what GET /load or a metrics page looks like.
  kMissing,    ///< A metric that was asked for is not on the page.
};
inline constexpr size_t kLoadErrors = 5;

/// snake_case name, as in metrics.
[[nodiscard]] std::string_view to_string(LoadErrc error);

/// The body of GET /load: one flat JSON object with the numbers "requests", "successes", "failures"
/// and perhaps "in_flight", "limit" and "p95_ms"; other members are passed over, nested ones are
/// malformed.
[[nodiscard]] base::Result<LoadCounts, LoadErrc> parse_load(std::string_view body);

/// Which series of a Prometheus page to sum: `name`, or `name{code="200",path!="/x"}`.
struct SeriesSelector {
  struct Condition {
    std::string label;
    std::string value;
    bool equal = true;  ///< Else: must differ, or be absent.
  };

  std::string name;
  std::vector<Condition> conditions;

  /// Nothing when the text is no selector.
  [[nodiscard]] static std::optional<SeriesSelector> parse(std::string_view text);
};

/// The sum of the series that any of `selectors` names; nothing when no series of them is there.
/// Values that are not finite are passed over, lines that are none too.
/// Source: Prometheus text exposition format 0.0.4.
[[nodiscard]] std::optional<double> sum_of(std::string_view page,
                                           const std::vector<SeriesSelector>& selectors);

/// What to read from a Prometheus page.
struct PageSelectors {
  std::vector<SeriesSelector> successes, failures;
  std::vector<SeriesSelector> requests;   ///< Empty: successes and failures together.
  std::vector<SeriesSelector> in_flight;  ///< Empty: not known, 0.
  std::vector<SeriesSelector> limit;      ///< Empty: not known, 0.
};

/// Failures that are not on the page count as none yet: many programs show a series with its first
/// event. Successes must be there.
[[nodiscard]] base::Result<LoadCounts, LoadErrc> parse_page(std::string_view page,
                                                            const PageSelectors& selectors);

}  // namespace spillway::adapters
