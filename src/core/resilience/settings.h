#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "resilience/classic_rules.h"
#include "resilience/host_settings.h"
#include "resilience/limiter.h"
#include "resilience/problem.h"

namespace spillway::resilience {

/// Everything an operator may tune of one guard. Inherited dependency -> region -> path: see
/// SettingsPatch.
struct Settings {
  /// Off: the guard admits all and still counts (mode disabled). Shadow: decides, admits all.
  enum class Enforcement : uint8_t { kEnforce, kShadow, kDisabled };
  Enforcement enforcement = Enforcement::kEnforce;

  /// How a circuit opens and closes. Classic: as resilience4j does, see `classic`; the values from
  /// here to `ramp`, the learnt bad share and the probe counts below mean nothing then.
  enum class Rules : uint8_t { kSpillway, kClassic };
  Rules rules = Rules::kSpillway;
  ClassicRules classic{};

  /// First wait in `open`; doubles with each relapse up to `open_max`, times U[0.8, 1.2].
  /// Larger: a dead dependency is asked less often, a healthy one comes back later. [100 ms, 5
  /// min].
  base::Duration open_min = std::chrono::seconds(5);
  /// Range [open_min, 5 min].
  base::Duration open_max = std::chrono::seconds(20);

  /// Length of the ramp back to full traffic. Larger: gentler. [1 s, 5 min].
  base::Duration ramp = std::chrono::seconds(30);

  /// An answer sooner than this is never slow. 50 ms for a DSP, 5 ms for a store. [1 ms, 10 s].
  base::Duration slow_floor = std::chrono::milliseconds(50);
  /// An answer later than this is always slow (when B was fair). [slow_floor, 60 s].
  base::Duration slow_ceiling = std::chrono::milliseconds(500);

  /// A call that was given so long was given enough, however long answers usually take: a silence
  /// is a timeout, and the remaining-time rule lets it pass. So a store that was too slow from its
  /// first call on is a failing one, where a DSP would be one that is asked in vain. 0: what is
  /// usual alone decides. Larger: slower to blame. [0, 60 s].
  base::Duration enough = base::Duration::zero();

  /// Calls in flight at once over all workers, Tails included; 0 refuses nothing. Larger: more
  /// sockets held by a slow dependency. [0, 100 000].
  uint32_t max_in_flight = 512;

  /// Law that keeps the limit of calls in flight between `limit_min` and `max_in_flight`; none: it
  /// is max_in_flight. Without a cap (max_in_flight 0) there is no limiter either.
  LimiterSettings::Algorithm limiter = LimiterSettings::Algorithm::kLatency;
  /// Larger: a sick dependency is given more. [1, 100 000]; at most max_in_flight holds.
  uint32_t limit_min = 4;
  /// Where the limiter starts, within its bounds; 0: at max_in_flight. [0, 100 000].
  uint32_t limit_initial = 0;

  /// Contracted calls per second over the whole process; 0 means no contract. [0, 10 000 000].
  uint32_t qps = 0;

  /// Probes wanted good among the last `probes_of` settled, and bad ones that re-open.
  /// [1, probes_of], [1, 8], [1, probes_of].
  uint32_t probes_good = 5;
  uint32_t probes_of = 6;
  uint32_t probes_bad = 2;

  /// Of the hosts under the leaf; whoever owns a Hosts gives it these.
  HostSettings hosts{};
};

/// The same, each field optional: what one level of the hierarchy says. `apply` overlays it.
struct SettingsPatch {
  std::optional<Settings::Enforcement> enforcement{};
  std::optional<Settings::Rules> rules{};
  std::optional<ClassicRules> classic{};  ///< Taken whole.
  std::optional<base::Duration> open_min{};
  std::optional<base::Duration> open_max{};
  std::optional<base::Duration> ramp{};
  std::optional<base::Duration> slow_floor{};
  std::optional<base::Duration> slow_ceiling{};
  std::optional<uint32_t> max_in_flight{};
  std::optional<LimiterSettings::Algorithm> limiter{};
  std::optional<uint32_t> limit_min{};
  std::optional<uint32_t> limit_initial{};
  std::optional<uint32_t> qps{};
  std::optional<uint32_t> probes_good{};
  std::optional<uint32_t> probes_of{};
  std::optional<uint32_t> probes_bad{};
  std::optional<HostSettings> hosts{};  ///< Taken whole.
};

[[nodiscard]] Settings apply(Settings base, const SettingsPatch& patch);

/// Every broken rule; empty when sound.
[[nodiscard]] std::vector<Problem> validate(const Settings& settings);

}  // namespace spillway::resilience
