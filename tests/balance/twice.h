#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "balance/farm.h"

namespace spillway::balance {

/// Whether the whole measurement was asked for (SPILLWAY_LONG=1), instead of the short one.
[[nodiscard]] inline bool is_long() {
  const char* value = std::getenv("SPILLWAY_LONG");  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && std::string_view(value) == "1";
}

/// Measures; once more when that missed, as a neighbour may have been in the way. `measure` says
/// what is wrong, or "".
inline void expect_within_two_tries(const std::function<std::string()>& measure) {
  std::string why = measure();
  if (!why.empty()) {
    fmt::print("missed: {}\nonce more, a neighbour may have been in the way\n", why);
    why = measure();
  }
  EXPECT_EQ(why, "");
}

}  // namespace spillway::balance

/// In a test: where no farm can be run it is skipped, with the reason.
#define SKIP_WITHOUT_FARM()                                                                \
  if (const std::string missing = ::spillway::balance::missing_here(); !missing.empty()) { \
    GTEST_SKIP() << missing;                                                               \
  }                                                                                        \
  static_assert(true)
