#pragma once

namespace spillway::capacity {

/// Probability that a request waits at a machine of `cores` that is `utilization` full, as M/M/c:
/// Erlang's C formula. `cores` at least 1, rounded down; `utilization` in (0, 1).
/// Cost: one pass over the cores.
[[nodiscard]] double waiting_probability(double cores, double utilization);

/// p99 of the wait in mean service times: max(0, ln(100·C) / (cores·(1 − utilization))).
[[nodiscard]] double p99_wait(double cores, double utilization);

/// How full a machine of `cores` may be for the same p99 wait as one of `reference_cores` at
/// `reference_utilization`: 8 cores at 65 % wait like 16 at 80 % and 32 at 89 %. Where the
/// reference does not wait at all, its own utilization. Cost: 60 passes over the cores.
[[nodiscard]] double equal_wait_utilization(double cores, double reference_cores,
                                            double reference_utilization);

}  // namespace spillway::capacity
