#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "capacity/capacity_estimate.h"
#include "capacity/law_settings.h"
#include "capacity/reading.h"
#include "capacity/sample.h"
#include "capacity/stability.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {

/// Who decides. Names as in Sample; `cores` only matters with latency_equal.
struct Identity {
  std::string id;
  std::string zone;
  std::string server_class;
  double cores = 0;
  uint64_t started_at_ms = 0;
};

/// What an operator or the life of the process says, stronger than any law.
struct Orders {
  bool draining = false;  ///< The weight is held; the answer to a poll is "drain".
  bool warming = false;   ///< Alive, not ready: min_weight.
  bool freeze = false;    ///< The weight is held; estimating goes on.
  double pin = 0;         ///< Above 0: exactly this weight.
};

/// One step's result.
struct Decision {
  double weight = 0;    ///< Real, min_weight to max_weight; SentWeight makes whole numbers of it.
  double target = 0;    ///< What the law wanted before the limit of steps.
  Reasons reasons;      ///< What acted.
  double capacity = 0;  ///< Own estimate, as published; 0: unknown.
  double prior = 0;     ///< What the class says of the weight; 0: unknown.
  double mean_capacity = 0;     ///< Of the zone with this server, as used; 0: unknown.
  double mean_utilization = 0;  ///< The same of utilization.
  uint32_t peers = 0;           ///< Live ones.
  base::Duration mean_age{};    ///< Of the peers' samples, or of the remembered mean.
  GainCheck gain;               ///< Margin of the loop as measured; kCapacity has no loop to ring.
  Sample sample;                ///< To publish. `weight` in it is the one decided.
};

/// A control law at work for one server. Pure: the same inputs give the same decisions, to the last
/// bit, live, in the simulator and on replay.
///
/// One thread. About 1 KiB. A step is a pass over the view: see law_bench.cc. Call it once a
/// period.
class Law {
 public:
  /// `settings` must be sound: see check().
  Law(const LawSettings& settings, Identity self);

  /// `view` may hold this server's own samples; they are left out.
  /// Any reading will do: see sound().
  Decision step(base::Instant now, const Reading& measured, const Orders& orders,
                const ZoneView& view);

  [[nodiscard]] const LawSettings& settings() const { return settings_; }

  [[nodiscard]] const Identity& self() const { return self_; }

  /// Other settings from the next step on, sound and of the same period; what was learned, the
  /// weight and the sequence go on.
  void change(const LawSettings& settings);

  /// The machine was resized: what was learned of it is forgotten, the class's prior steps in.
  void resize(std::string server_class, double cores);

  /// Continues where an earlier process was: a weight (above 0) and a capacity (0: unknown).
  void resume(double weight, double capacity);

 private:
  struct Means;

  [[nodiscard]] Means means_of(base::Instant now, const ZoneSummary& zone, const Reading& reading,
                               Decision& decision);
  [[nodiscard]] double target_of(base::Instant now, const Reading& reading, const Means& means,
                                 Decision& decision);
  [[nodiscard]] double capacity_target(base::Instant now, const Reading& reading,
                                       const Means& means, Decision& decision);
  [[nodiscard]] double delayed_multiplicative(base::Instant now, const Reading& reading,
                                              const Means& means, Reasons& reasons) const;
  [[nodiscard]] double gain_of(const Means& means, Decision& decision) const;
  [[nodiscard]] double weight_at(base::Instant when) const;
  [[nodiscard]] double shaped(const Orders& orders, Decision& decision);
  void note_failures(const Reading& reading, const ZoneSummary& zone, Reasons& reasons);
  void note_lies(Reasons reasons);
  void remember(base::Instant now, double weight);
  [[nodiscard]] Sample to_publish(base::Instant now, const Reading& reading, const Orders& orders,
                                  const Decision& decision);

  LawSettings settings_;
  Identity self_;
  double offset_ = 1;
  CapacityEstimate estimate_;
  DelayMeter delay_;
  double weight_;
  bool decided_ = false;
  uint64_t sequence_ = 0;
  double trust_ = 1;  ///< Falls to 0.5 while the sensor is caught lying.
  bool failing_ = false;
  double recent_failures_ = 0;  ///< Decayed counts.
  double recent_answers_ = 0;

  struct {
    double mean = 0;
    double max = 0;
    base::Instant at{};
  } remembered_;  ///< Of the zone's capacity.

  struct Past {
    base::Instant at{};
    double weight = 0;
  };

  static constexpr size_t kPast = 64;
  std::array<Past, kPast> past_{};  ///< A ring of what was decided.
  size_t past_count_ = 0;
};

}  // namespace spillway::capacity
