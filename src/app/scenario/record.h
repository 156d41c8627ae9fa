#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::app {

/// Series of a scrape, labels as written there, or numbers of a JSON text by their dotted path.
using Metrics = std::map<std::string, double>;

/// What a Prometheus text says; lines that are none are skipped.
[[nodiscard]] Metrics parse_metrics(std::string_view page);

/// The numbers of a JSON text: {"answers":{"bid":3}} is "answers.bid". Empty when it is no JSON.
[[nodiscard]] Metrics parse_numbers(std::string_view json_text);

/// Sum of the series of `name` whose labels contain all of `parts`.
[[nodiscard]] double sum_of(const Metrics& metrics, std::string_view name,
                            const std::vector<std::string>& parts = {});

/// Value of a key; 0 when it is not there.
[[nodiscard]] double value_of(const Metrics& metrics, std::string_view name);

/// Milliseconds below which `ratio` of the samples of a histogram lie that came between two
/// scrapes; straight lines within buckets. NaN without samples.
[[nodiscard]] double quantile_ms(const Metrics& before, const Metrics& after, std::string_view name,
                                 const std::vector<std::string>& parts, double ratio);

/// CPU time of a process and how long its threads stood ready without a processor, seconds.
struct CpuUse {
  double ran_s = 0;
  double waited_s = 0;
};

/// Everything counted, at one moment.
struct Snapshot {
  double at_s = 0;  ///< Since the load's start.
  Metrics exchange, farm, load;
  double resident_bytes = 0;  ///< Of the exchange.
  CpuUse exchange_cpu, farm_cpu, load_cpu;
  double excused_misses =
      0;  ///< Deadline misses so far while the exchange was kept from a processor.
};

/// A line of the exchange's log that a circuit or an alert changed.
struct Change {
  double at_s = 0;
  std::string dsp;
  std::string to;     ///< A state; "raised" for an alert.
  std::string why{};  ///< As the log says.
};

/// What a run of a scenario has seen: the counters at each step, and what happened between.
struct Record {
  std::map<std::string, Snapshot> snapshots;  ///< By step; "start" and "end" too.
  std::vector<Change> changes;                ///< At most kChanges.
  std::map<std::string, double> prices;       ///< By DSP, CPM.
  double exit_status = -1;                    ///< Of the exchange; -1 while it runs.
  double stop_s = -1;                         ///< From SIGTERM to its end.
  double capacity_rate = 0;                   ///< Auctions a second at the quota; 0: not measured.
  double auction_cpu_s = 0;                   ///< CPU of a served auction, below capacity.
  double times_capacity = 0;

  static constexpr size_t kChanges = 100'000;
};

}  // namespace spillway::app
