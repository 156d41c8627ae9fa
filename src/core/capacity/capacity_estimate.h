#pragma once

#include <cstdint>

#include "capacity/law_settings.h"
#include "capacity/reading.h"

namespace spillway::capacity {

/// What the peers say of a class when a reading of one of it is judged.
struct ClassBand {
  double median = 0;            ///< Of the peers' capacities; 0: nobody to compare with.
  double reading = 0;           ///< Of their last readings, unsmoothed; 0: the same.
  double mean_utilization = 0;  ///< Of the zone's peers; 0: unknown.
  double median_p95_ms = 0;     ///< 0: unknown.
};

/// How many successful requests a second a server gives for one unit of utilization, smoothed in
/// ln: an exponential mean, faster after two errors to the same side; readings that say nothing or
/// lie are left out. The band is around what the class estimates and what it just read, so that a
/// change that meets all is followed. Alone in its class, a server is held against its own mean of
/// some minutes: no peer can tell a lie from a new cache. When it insists it is believed on trial,
/// a step at a time; what throttling, pressure or latency contradict is taken back, and the next
/// time it must insist for twice as long.
///
/// One thread. Time of a reading is constant.
class CapacityEstimate {
 public:
  /// One window. Adds why it was not used, or used in another way. The settings should be the same
  /// at every call.
  void on_reading(const LawSettings& settings, const Reading& reading, const ClassBand& peers,
                  Reasons& reasons);

  /// 0: unknown.
  [[nodiscard]] double value() const { return value_; }

  /// What `value` is held against without peers of the class; 0: unknown.
  [[nodiscard]] double anchor() const { return anchor_readings_ >= kAnchorFrom ? anchor_ : 0; }

  void resume(double capacity);

 private:
  static constexpr uint32_t kAnchorFrom = 5;
  static constexpr uint32_t kPatience = 15;

  [[nodiscard]] bool stuck(const LawSettings& settings, const Reading& reading);
  [[nodiscard]] bool banded(const LawSettings& settings, const ClassBand& peers, double& capacity,
                            Reasons& reasons);
  void insist(double capacity);
  [[nodiscard]] bool on_trial() const;
  void end_trial();
  void learn(const LawSettings& settings, double capacity, Reasons& reasons);

  double value_ = 0;
  double anchor_ = 0;
  uint32_t anchor_readings_ = 0;
  uint32_t insisted_ = 0;          ///< Readings above the own mean's band in a row.
  uint32_t accepted_ = 0;          ///< Readings within it in a row.
  uint32_t patience_ = kPatience;  ///< How often it must insist before a trial.
  double trusted_ = 0;             ///< The own mean before the trial; 0: none is on.
  int same_side_ = 0;              ///< Large errors in a row, with their sign.
  double last_utilization_ = -1;
  double first_successes_ = 0;  ///< When the same number was first read.
  bool traffic_moved_ = false;
  uint32_t alike_ = 0;
};

}  // namespace spillway::capacity
