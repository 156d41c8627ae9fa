#pragma once

#include <cstdint>

namespace spillway::resilience {

/// Lower end of Wilson's score interval for a share of `bad` in `calls`, `z` standard deviations
/// out: the smallest true share that makes the observed one plausible. 0 when calls is 0.
///
///     p = bad / calls;  (p + z²/2n − z·sqrt(p(1−p)/n + z²/4n²)) / (1 + z²/n)
///
/// Requires bad <= calls, z >= 0. Source: Wilson, "Probable inference", JASA 22, 1927.
[[nodiscard]] double wilson_lower_bound(uint64_t bad, uint64_t calls, double z);

}  // namespace spillway::resilience
