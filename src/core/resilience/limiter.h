#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/time.h"

namespace spillway::resilience {

/// What a limiter is shown: the calls that ended in some stretch of time. A window of one call is
/// how the formulas of `mode: netflix` are fed, which work call by call.
struct LimiterWindow {
  base::Instant at{};       ///< Its end.
  base::Duration length{};  ///< 0 for a single call.
  uint64_t answers = 0;     ///< Calls with a latency. Fast failures are none.
  uint64_t drops = 0;       ///< Timeouts and overload answers.
  uint64_t timeouts = 0;    ///< Of the drops: a share of these may be usual.
  base::Duration low{};     ///< Latency below which a tenth of the answers lies.
  base::Duration median{};
  uint64_t uncongested = 0;  ///< Answers to calls that began with in-flight <= uncongested_most().
  base::Duration uncongested_low{};  ///< Low decile of those.
  uint32_t in_flight = 0;            ///< Most seen at once.

  /// One call: the latency is a sample also when it was dropped. A latency below 1 ns counts as 1.
  static LimiterWindow of_call(base::Instant at, base::Duration latency, uint32_t in_flight,
                               bool dropped);
};

struct LimiterSettings {
  enum class Algorithm : uint8_t { kNone, kLatency, kVegas, kGradient2, kAimd };
  Algorithm algorithm = Algorithm::kLatency;
  /// Per-call formulas of Netflix's concurrency-limits, with their defects: for comparison.
  bool netflix = false;
  uint32_t min = 4;  ///< [1, max].
  uint32_t max = 512;
  uint32_t initial = 0;  ///< 0: the usual start (max; 20 in netflix mode).

  /// While the median is no later than this, latency is no reason to cut.
  base::Duration harmless{};
  /// Above this a latency is never taken for the dependency's own.
  base::Duration max_healthy = std::chrono::milliseconds(500);
  /// Netflix's Vegas forgets its baseline every jitter · 30 · L calls; drawn from [0.5, 1) there,
  /// fixed here.
  double probe_jitter = 0.75;
};

/// A law that says how many calls may be in flight at once.
///
/// One thread. Memory fixed. The limit stays in [min, max] whatever it is shown; time that goes
/// back and windows without calls are safe.
class Limiter {
 public:
  Limiter(double initial, double min, double max) : limit_(initial), min_(min), max_(max) {}

  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;
  virtual ~Limiter() = default;

  virtual void observe(const LimiterWindow& window) = 0;

  /// The circuit has been open: go on at a quarter of the limit from before the trouble. What is
  /// known of the dependency's latency stays.
  virtual void restart() { limit_ = std::max(min_, limit_ / 4); }

  /// New bounds; the limit moves only as far as they make it.
  void set_bounds(double min, double max);

  /// Calls in flight up to which a call that begins is taken for uncongested.
  [[nodiscard]] virtual uint32_t uncongested_most() const { return limit() / 2; }

  [[nodiscard]] double exact() const { return limit_; }

  /// Whole calls: what lies behind the point is cut off.
  [[nodiscard]] uint32_t limit() const { return static_cast<uint32_t>(limit_); }

 protected:
  double limit_;
  double min_;
  double max_;
};

/// Null for kNone.
[[nodiscard]] std::unique_ptr<Limiter> make_limiter(const LimiterSettings& settings);

}  // namespace spillway::resilience
