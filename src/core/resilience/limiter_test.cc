#include "resilience/limiter.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "resilience/queue_server_test.h"

namespace spillway::resilience {
namespace {

using Algorithm = LimiterSettings::Algorithm;

struct Case {
  const char* name;
  Algorithm algorithm;
  uint32_t servers;
  double sigma;  ///< Of the service time, median 50 ms; 0: fixed; -1: exponential.
};

/// AIMD sees no queue: its server refuses what would wait longer than a few calls.
constexpr Case kCases[] = {
    {"LatencyFixed50", Algorithm::kLatency, 50, 0},
    {"LatencyNarrow50", Algorithm::kLatency, 50, 0.3},
    {"LatencyWide50", Algorithm::kLatency, 50, 0.6},
    {"LatencyExponential50", Algorithm::kLatency, 50, -1},
    {"LatencyNarrow200", Algorithm::kLatency, 200, 0.3},
    {"LatencyWide100", Algorithm::kLatency, 100, 0.6},
    {"VegasFixed50", Algorithm::kVegas, 50, 0},
    {"VegasNarrow50", Algorithm::kVegas, 50, 0.3},
    {"VegasWide50", Algorithm::kVegas, 50, 0.6},
    {"Gradient2Fixed50", Algorithm::kGradient2, 50, 0},
    {"Gradient2Narrow50", Algorithm::kGradient2, 50, 0.3},
    {"Gradient2Wide50", Algorithm::kGradient2, 50, 0.6},
    {"AimdNarrow50", Algorithm::kAimd, 50, 0.3},
    {"AimdNarrow200", Algorithm::kAimd, 200, 0.3},
};

class ClosedLoop : public testing::TestWithParam<std::tuple<Case, double>> {};

/// From a fifth of the knee and from five times it.
TEST_P(ClosedLoop, ConvergesToTheKneeAndStaysThere) {
  const auto& [c, from] = GetParam();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto limiter = make_limiter({.algorithm = c.algorithm,
                                       .max = 2000,
                                       .initial = static_cast<uint32_t>(c.servers * from)});
    QueueServer server(*limiter, seed);
    server.servers = c.servers;
    server.service = c.sigma < 0    ? exponential_service(50)
                     : c.sigma == 0 ? fixed_service(50)
                                    : lognormal_service(50, c.sigma);
    server.rate = c.servers / 0.05 * 1.5;
    server.buffer = c.algorithm == Algorithm::kAimd ? c.servers / 20 : UINT32_MAX;
    server.run(360);
    const auto range = server.last(120);
    const double knee = c.servers;
    std::printf("%s from %4.1f seed %d: mean %.1f, %.1f to %.1f of knee %.0f\n", c.name, from,
                static_cast<int>(seed), range.mean, range.low, range.high, knee);
    EXPECT_NEAR(range.mean, knee, 0.2 * knee);
    EXPECT_GE(range.low, range.mean * 0.85);
    EXPECT_LE(range.high, range.mean * 1.15);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ClosedLoop,
                         testing::Combine(testing::ValuesIn(kCases), testing::Values(0.2, 5.0)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  (std::get<1>(test.param) < 1 ? "FromBelow" : "FromAbove");
                         });

}  // namespace
}  // namespace spillway::resilience
