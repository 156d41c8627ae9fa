#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::workload {

/// One rule that a setting breaks: key (relative to where the setting stands) and a sentence.
struct Problem {
  std::string key;
  std::string what;
};

/// How long a partner takes to answer: a distribution with one sample a call.
///
/// Constant: always `typical`. Lognormal: `typical` is the median, `shape` the sigma of the
/// logarithm (0.2 even, 0.6 uneven); the usual form of a healthy DSP. Pareto: `typical` is the
/// minimum, `shape` the alpha (1.2 heavy, 3 light); the usual form of a tail. No sample is longer
/// than `cap`. A value; any thread.
struct Latency {
  enum class Kind : uint8_t { kConstant, kLognormal, kPareto };

  Kind kind = Kind::kConstant;
  base::Duration typical = std::chrono::milliseconds(10);  ///< [0, 60 s]; > 0 unless constant.
  double shape = 0.4;                                      ///< (0, 10].
  base::Duration cap = std::chrono::seconds(10);           ///< [typical, 10 min].

  [[nodiscard]] static Latency constant(base::Duration value);
  [[nodiscard]] static Latency lognormal(base::Duration median, double sigma);
  [[nodiscard]] static Latency pareto(base::Duration minimum, double alpha, base::Duration cap);

  /// A sample in [0, cap].
  [[nodiscard]] base::Duration sample(base::Rng& rng) const;

  /// The value below which `ratio` (in (0, 1)) of the samples lie, computed, not sampled.
  [[nodiscard]] base::Duration quantile(double ratio) const;
};

[[nodiscard]] std::string_view to_string(Latency::Kind kind);

/// Every broken rule; empty when sound.
[[nodiscard]] std::vector<Problem> validate(const Latency& latency);

}  // namespace spillway::workload
