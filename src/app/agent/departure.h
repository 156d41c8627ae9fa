#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "adapters/agent_check.h"
#include "base/time.h"

namespace spillway::app::agent {

/// Why a server takes nothing new.
enum class DrainReason : uint8_t { kNone, kSignal, kSpotInterruption, kRebalance, kOperator };
inline constexpr size_t kDrainReasons = 5;

/// snake_case name, as in metrics.
[[nodiscard]] std::string_view to_string(DrainReason reason);

struct DepartureSettings {
  /// From SIGTERM to the end, at most. Larger: slower requests are waited for. [0, 1 h].
  base::Duration wait = std::chrono::seconds(30);
  /// At least: every HAProxy must have asked by then. Twice their agent-inter. [0, 10 min].
  base::Duration announce = std::chrono::seconds(4);
  /// How long "ready" is said after a drain of our own: the longest agent-inter of all HAProxies,
  /// so that each hears it. Larger: an operator's maint given then is undone. [100 ms, 10 min].
  base::Duration ready_for = std::chrono::seconds(3);
};

/// A server's way out, and back: what word its polls are answered with. A value; pure.
class Departure {
 public:
  explicit Departure(const DepartureSettings& settings) : settings_(settings) {}

  void set_settings(const DepartureSettings& settings) { settings_ = settings; }

  /// Takes nothing new from now on. Again: the first time counts, the later reason too.
  void drain(base::Instant now, DrainReason reason);

  /// As drain(), and the process ends when it may.
  void leave(base::Instant now);

  /// Takes traffic again after a drain of ours, unless it leaves; nothing when there was none.
  void come_back(base::Instant now);

  /// There was a drain before this process began; HAProxy still keeps to it.
  void resume_drained(base::Instant now);

  /// `kUp` unless something else must be said.
  [[nodiscard]] adapters::AgentWord word(base::Instant now) const;

  /// Whether the process may end: nothing is in flight for sure and the drain was announced, or the
  /// time is over.
  [[nodiscard]] bool is_over(base::Instant now, bool is_quiet) const;

  [[nodiscard]] DrainReason reason() const { return reason_; }

  [[nodiscard]] bool draining() const { return reason_ != DrainReason::kNone; }

  [[nodiscard]] bool leaving() const { return leaving_; }

 private:
  DepartureSettings settings_;
  DrainReason reason_ = DrainReason::kNone;
  bool leaving_ = false;
  base::Instant since_{};
  base::Instant ready_until_{};
};

}  // namespace spillway::app::agent
