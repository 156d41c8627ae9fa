#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "app/demo/child_process.h"

namespace spillway::balance {

/// What became of the requests of one `spillway load`.
struct LoadReport {
  bool valid = false;
  uint64_t offered = 0, ended = 0;
  uint64_t failed = 0;  ///< Any end but a 2xx or 3xx.
  uint64_t missed = 0;  ///< Dropped or late: what the generator itself did not manage.
  double p50_ms = 0, p99_ms = 0;

  [[nodiscard]] double failed_ratio() const {
    return ended == 0 ? 1 : static_cast<double>(failed) / static_cast<double>(ended);
  }

  /// Failed and all latencies in one second of the run.
  struct Second {
    uint64_t ended = 0, failed = 0;
    double p50_ms = 0, p99_ms = 0;
  };

  std::vector<Second> seconds;
};

/// `spillway load` in a process of its own: Poisson arrivals in an open loop, plain GETs.
class Load {
 public:
  struct Settings {
    uint16_t port = 0;
    double rate_per_s = 100;
    double ramp_to_per_s = 0;  ///< 0: constant.
    std::chrono::seconds duration{10};
    std::string timeout = "5s";
  };

  Load(const std::filesystem::path& report_file, const Settings& settings);

  [[nodiscard]] pid_t pid() const { return process_->pid(); }

  [[nodiscard]] bool running();

  /// Waits for its end, which comes by itself.
  [[nodiscard]] LoadReport report();

  /// The schedule ends now; what is in flight still does.
  void stop();

 private:
  std::filesystem::path report_file_;
  std::unique_ptr<std::string> said_;  ///< Stays where it is when this moves.
  std::unique_ptr<app::ChildProcess> process_;
};

}  // namespace spillway::balance
