#pragma once

#include <cstdint>
#include <string_view>

namespace spillway::resilience {

/// What a call was worth, for every caller kind. The caller's own pure function makes exactly one
/// of these from a `base::CallResult`; what each means to breaker, limiter and hosts is the table
/// in DESIGN 3 and nowhere else.
enum class Outcome : uint8_t {
  kOk,
  kSlow,
  kTimeout,
  kShort,
  kOverload,
  kServerError,
  kRefused,
  kReset,
  kTls,
  kMalformed,
  kMisconfigured,
  kRejectedByPeer,
  kCancelled,
  kCancelledSlow,
  kNotSent,
  kAbandoned,
};

inline constexpr int kOutcomes = 16;

/// snake_case name, as in metrics and logs.
[[nodiscard]] std::string_view to_string(Outcome outcome);

/// What the breaker makes of an outcome.
enum class Verdict : uint8_t { kGood, kBad, kNeutral, kOverload };

[[nodiscard]] Verdict verdict_of(Outcome outcome);

}  // namespace spillway::resilience
