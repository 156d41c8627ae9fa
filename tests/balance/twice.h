#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "balance/farm.h"

namespace spillway::balance {

/// Whether the whole measurement was asked for (SPILLWAY_LONG=1), instead of the short one.
[[nodiscard]] inline bool is_long() {
  const char* value = std::getenv("SPILLWAY_LONG");  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && std::string_view(value) == "1";
}

/// What came of a measurement.
struct Measured {
  std::string why;          ///< What is wrong; "" when it holds.
  double others_cores = 0;  ///< Processors that others used meanwhile; where that matters.
};

/// Measures; once more when that missed, as a neighbour may have been in the way. A miss counts,
/// unless others used half of the machine both times: then it cannot be judged here.
inline void expect_within_two_tries(const std::function<Measured()>& measure) {
  Measured first = measure();
  if (first.why.empty()) {
    return;
  }
  fmt::print("missed: {}others used {:.2f} processors; once more\n", first.why, first.others_cores);
  const Measured second = measure();
  const double crowded = std::thread::hardware_concurrency() / 2.0;
  if (!second.why.empty() && std::min(first.others_cores, second.others_cores) > crowded) {
    GTEST_SKIP() << "others used " << second.others_cores << " processors: " << second.why;
  }
  EXPECT_EQ(second.why, "");
}

}  // namespace spillway::balance

/// In a test: where no farm can be run it is skipped, with the reason.
#define SKIP_WITHOUT_FARM()                                                                \
  if (const std::string missing = ::spillway::balance::missing_here(); !missing.empty()) { \
    GTEST_SKIP() << missing;                                                               \
  }                                                                                        \
  static_assert(true)
