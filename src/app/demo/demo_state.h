#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::app {

/// One line of the demo's story.
struct DemoEvent {
  double at_s = 0;  ///< Since the start of the load.
  std::string key;  ///< Leaf of a transition; "" for what the demo itself did.
  std::string from;
  std::string to;
  std::string rule;
  std::string text;  ///< The reason, or what the demo did.
};

struct DemoCircuit {
  std::string key;
  std::string state;
  double admit_ratio = 1;
  int64_t in_flight = 0;
  double p50_ms = 0;
  double p90_ms = 0;
  std::map<std::string, uint64_t> outcomes;
  std::map<std::string, uint64_t> refused;  ///< By code: "520", …

  [[nodiscard]] std::string dsp() const { return key.substr(0, key.find('/')); }
};

/// What the demo knows, made only of what the parts say: log lines, admin answers, metrics and the
/// generator's report lines. Pure; one thread.
struct DemoState {
  double now_s = 0;
  uint64_t auctions = 0;
  uint64_t deadline_misses = 0;
  uint64_t late_dsp_answers = 0;
  std::map<std::string, uint64_t> answers;   ///< bid, house, no_bid, … as the callers saw them.
  std::map<std::string, uint64_t> recent;    ///< The same over the last kRecent report lines.
  std::map<std::string, double> latency_ms;  ///< p50, …
  uint64_t offered = 0;
  uint64_t dropped = 0;
  uint64_t late = 0;
  double rate_achieved = 0;
  std::vector<DemoCircuit> circuits;
  std::vector<DemoEvent> events;  ///< At most kEvents; later ones are dropped.

  static constexpr size_t kEvents = 10'000;
  static constexpr size_t kRecent = 6;  ///< 3 s of lines twice a second.

  /// A line of the exchange's log at `at_s`; lines that are no transition change nothing.
  void on_log_line(double at_s, std::string_view line);
  /// A line of `spillway load --json`. False when it is none.
  bool on_load_line(std::string_view line);
  /// Body of GET /admin/circuits. False when it is none.
  bool on_circuits(std::string_view body);
  /// Body of GET /metrics.
  void on_metrics(std::string_view body);

  /// Seconds of the first transition of `dsp` to `state` not before `from_s`; -1 when none.
  [[nodiscard]] double first(std::string_view dsp, std::string_view state, double from_s) const;

 private:
  std::deque<std::map<std::string, uint64_t>> history_;
};

/// The value of `key=` in a log line, quotes taken off; "" when absent.
[[nodiscard]] std::string field_of(std::string_view line, std::string_view key);

}  // namespace spillway::app
