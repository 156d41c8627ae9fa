#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/load/generator.h"
#include "base/result.h"
#include "base/time.h"
#include "workload/arrivals.h"
#include "workload/corpus.h"

namespace spillway::app {

/// The options that say where load goes, how and what of: those of every command that makes load.
struct LoadOptions {
  std::vector<std::string> targets;
  std::vector<std::string> headers;
  std::string ca_file;
  size_t connections = 0;
  size_t workers = 1;
  std::string timeout = "500ms";
  std::string late_after = "10ms";
  uint64_t seed = 1;
  bool new_connections = false;
  bool allow_remote = false;
  bool force = false;

  void add_to(CLI::App& app);
};

/// The options of what is sent.
struct CorpusOptions {
  std::string corpus = "exchange";
  std::string requests;
  bool shuffle = false;
  bool get = false;
  double time_scale = 1;  ///< Also that of a trace.
  workload::CorpusSettings shares;

  void add_to(CLI::App& app);
};

/// The options of a schedule.
struct ScheduleOptions {
  double rate = 100;
  double ramp_to = -1;
  double step_to = -1;
  std::string step_at;
  std::string trace;
  std::string duration = "10s";
  bool poisson = false;

  void add_to(CLI::App& app);
};

/// Everything but the schedule; the error is a sentence that begins with the option.
[[nodiscard]] base::Result<LoadSettings, std::string> settings_of(const LoadOptions& options);

[[nodiscard]] base::Result<workload::ArrivalSettings, std::string> schedule_of(
    const ScheduleOptions& options, double time_scale);

/// Nothing for plain GETs.
[[nodiscard]] base::Result<std::optional<workload::Corpus>, std::string> corpus_of(
    const CorpusOptions& options, uint64_t seed);

/// A time longer than zero, or a sentence.
[[nodiscard]] base::Result<base::Duration, std::string> time_option(const std::string& name,
                                                                    const std::string& text);

}  // namespace spillway::app
