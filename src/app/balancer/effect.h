#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "app/balancer/picture.h"
#include "base/time.h"

namespace spillway::app::balancing {

struct EffectSettings {
  /// Shares are compared over so long. Larger: smaller differences are told from chance, later.
  /// [1 s, 1 h].
  base::Duration window = std::chrono::seconds(30);
  double tolerance_ratio = 0.05;  ///< Of the whole; more is warned of. [0.001, 1].
  uint32_t least_requests = 500;  ///< A window with fewer says nothing. [1, 10^9].
};

/// Why a server's received share is not the expected one, as far as HAProxy tells.
enum class EffectCause : uint8_t {
  kNone,         ///< Within tolerance.
  kPinned,       ///< mode tcp: connections stay where they are, weights act on new ones.
  kAlgorithm,    ///< leastconn, random, first, source, uri: weights are not (only) what it goes by.
  kAgentMissed,  ///< A server's agent is silent, or its weight differs from another HAProxy's.
  kSlowStart,    ///< A server was in slow start.
  kUnknown,      ///< Retries, cookies, `use-server`, queues.
};
inline constexpr size_t kEffectCauses = 6;

[[nodiscard]] std::string_view to_string(EffectCause cause);

struct ServerEffect {
  double expected = 0;  ///< Share by weights, 0 to 1.
  double received = 0;  ///< Share of what the algorithm dealt (lbtot).
  double held = 0;      ///< Share of the sessions open, mean over the window.
  uint64_t picked = 0;
};

/// What came of the weights in one whole window.
struct EffectReport {
  std::map<std::string, ServerEffect, std::less<>> servers;
  uint64_t picked = 0;
  double worst = 0;          ///< Largest |received - expected|; of tcp: |held - expected| too.
  std::string worst_server;  ///< "" when nothing was dealt.
  EffectCause cause = EffectCause::kNone;
};

/// Compares, for one backend of one HAProxy, the share of traffic each server should have by its
/// weight with what it received. A restart of HAProxy begins a new window. Pure; one thread.
class Effect {
 public:
  explicit Effect(EffectSettings settings) : settings_(settings) {}

  /// A report at the end of each window in which enough was dealt. `differs`: a server's weight is
  /// not that of other HAProxies.
  [[nodiscard]] std::optional<EffectReport> add(const Picture& picture, bool differs,
                                                base::Instant now);

 private:
  struct Server {
    uint64_t picked_before = 0;
    double weight_before = 0;
    double expected = 0;  ///< Picks it should have had.
    uint64_t picked = 0;
    double sessions = 0;
  };

  void begin(const Picture& picture, base::Instant now);
  [[nodiscard]] EffectReport report(const Picture& picture, bool differs) const;
  [[nodiscard]] EffectCause cause_of(const Picture& picture, bool differs) const;

  EffectSettings settings_;
  std::map<std::string, Server, std::less<>> servers_;
  uint64_t pid_ = 0;
  base::Instant begun_{};
  double sessions_ = 0;
  bool silent_ = false;
  bool throttled_ = false;
};

}  // namespace spillway::app::balancing
