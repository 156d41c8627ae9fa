#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace spillway::workload {

struct CapacitySettings {
  double first_rate = 100;  ///< Where to begin, arrivals a second.
  double rate_max = 1e6;
  double precision = 0.05;  ///< Held and not held are closer than this at the end.
  base::Duration probe = std::chrono::seconds(3);  ///< Of a trial on the way.
  base::Duration hold = std::chrono::seconds(30);  ///< Of the trial that counts.
};

/// Finds the highest rate that a server holds: doubling (or halving) until one rate is held and a
/// higher one is not, then bisection by short trials, then the long trial; where that is not held,
/// a step of `precision` down and again. Pure: the caller makes the trials and judges them.
///
/// A value; at most kTrialsMax trials.
class CapacitySearch {
 public:
  static constexpr int kTrialsMax = 60;

  struct Trial {
    double rate = 0;
    base::Duration duration{};
    bool counts = false;  ///< The long one.
  };

  explicit CapacitySearch(const CapacitySettings& settings);

  /// What to try next; nullopt when the search is over.
  [[nodiscard]] std::optional<Trial> next() const;

  /// How the trial of next() went.
  void on_result(bool held);

  /// The highest rate that was held for the whole of `hold`; 0 when none was.
  [[nodiscard]] double capacity() const { return capacity_; }

  /// The search ended at rate_max: the server may hold more.
  [[nodiscard]] bool at_limit() const { return capacity_ >= settings_.rate_max; }

 private:
  enum class Stage : uint8_t { kBracketing, kBisecting, kHolding, kOver };

  void bracket(bool held);
  void narrow();

  CapacitySettings settings_;
  Stage stage_ = Stage::kBracketing;
  double rate_;
  double held_ = 0;      ///< Highest held by a short trial.
  double not_held_ = 0;  ///< Lowest not held; 0: none yet.
  double capacity_ = 0;
  int trials_ = 0;
};

}  // namespace spillway::workload
