#pragma once

#include <string>
#include <vector>

#include "balance/law_run.h"

namespace spillway::balance {

/// A law's run with the name it has in the table.
struct NamedRun {
  std::string name;
  LawRunPlan plan;
  LawRun run;
};

/// What the table says of one run.
struct Figures {
  double spread_10s_p95 = 0;  ///< Of windows of ten seconds from 30 s on.
  double within_5 = 0;        ///< Share of the same windows with at most 5 points.
  double spread_60s_max = 0;  ///< Of windows of sixty seconds from 90 s on; NaN: too short a run.
  double settled_at_s = 0;    ///< End of the first ten seconds with at most 5 points; NaN: never.
  double hottest = 0;         ///< Highest CPU of any back end in the last ten seconds.
  double p99_ms = 0;          ///< Typical second's, from 30 s on.
  double failed_ratio = 0;
};

[[nodiscard]] Figures figures_of(const LawRun& run);

/// For a terminal and for Markdown alike.
[[nodiscard]] std::string table_of(const std::vector<NamedRun>& runs);

/// One line.
[[nodiscard]] std::string json_of(const std::vector<NamedRun>& runs);

/// A whole SVG file: spread over time law by law, and the CPU of each back end under the first, the
/// collapsing and the last law.
[[nodiscard]] std::string svg_file_of(const std::vector<NamedRun>& runs);

}  // namespace spillway::balance
