#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resilience/host_settings.h"
#include "resilience/outcome.h"

namespace spillway::resilience {

/// What hosts make of an outcome. Local: no answer came (connect, TLS, reset, timeout).
enum class HostResult : uint8_t { kGood, kLocalFailure, kServerError, kNeutral };

inline constexpr size_t kHostResults = 4;

[[nodiscard]] HostResult host_result_of(Outcome outcome);

/// Whether the time of the call tells how fast the host is. That of a call given up is a lower
/// bound; fast failures say nothing.
[[nodiscard]] constexpr bool tells_latency(Outcome outcome) {
  return outcome == Outcome::kOk || outcome == Outcome::kSlow || outcome == Outcome::kMalformed ||
         outcome == Outcome::kTimeout || outcome == Outcome::kCancelledSlow;
}

/// What one usable host did in an interval.
struct HostSample {
  size_t slot = 0;
  uint64_t calls = 0;  ///< Good ones and failures.
  uint64_t failures = 0;
  uint64_t latencies = 0;
  base::Duration p90{};
};

/// A host that a rule would eject.
struct Suspect {
  size_t slot = 0;
  std::string_view rule{};  ///< "consecutive_local", "consecutive_5xx", "success_rate", "latency".
  double severity = 0;      ///< Orders the suspects of one rule, worst largest.
  uint64_t calls = 0;
  uint64_t failures = 0;
  std::string reason{};
};

/// Appends the hosts that fail more than their peers: at least `volume` calls and `min_failures`
/// failures, success below `success_floor`, and the lower bound (Wilson, z = 3) of the failing
/// share above the upper bound (z = deviations, over all their calls) of the median of the peers
/// that have the volume, plus deviations · 1.4826 · MAD. Median and MAD, not mean and sigma: three
/// bad hosts of ten must not hide each other, and a single peer suffices.
void suspect_rates(const std::vector<HostSample>& samples, const HostSettings& settings,
                   std::vector<Suspect>& out);

/// Appends the hosts whose p90 is over `slow_floor` and `latency_ratio` times the median of their
/// peers' p90, each over at least `volume` latencies.
void suspect_latencies(const std::vector<HostSample>& samples, const HostSettings& settings,
                       std::vector<Suspect>& out);

/// The failing share of the median host (the better of the middle two) of those with at least 20
/// calls, or `before` when there are none.
[[nodiscard]] double usual_share(const std::vector<HostSample>& samples, double before);

/// How many failures in a row eject: `wanted`, but as many as chance makes once in a million calls
/// where `usual` of them fail, up to 20.
[[nodiscard]] uint32_t row_that_ejects(uint32_t wanted, double usual);

/// How many of `hosts` may be out at once: less than `hosts`.
[[nodiscard]] size_t most_ejected(size_t hosts, double max_ejected);

/// How long the n-th ejection lasts, n >= 1; `uniform` in [0, 1) is its jitter.
[[nodiscard]] base::Duration ejection_time(uint32_t n, const HostSettings& settings,
                                           double uniform);

}  // namespace spillway::resilience
