#pragma once

// For tests only: a configuration read, and all that is wrong with it as text.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/exchange_config.h"
#include "app/config/reader.h"

namespace spillway::app::testing {

inline std::string problems_of(std::string_view text) {
  std::vector<ConfigProblem> problems;
  (void)read_exchange_config(text, problems);
  std::string out;
  for (const auto& problem : problems) {
    out += to_string(problem, "f") + "\n";
  }
  return out;
}

/// Fails the test when something is wrong.
inline ExchangeConfig good(std::string_view text) {
  std::vector<ConfigProblem> problems;
  auto config = read_exchange_config(text, problems);
  for (const auto& problem : problems) {
    ADD_FAILURE() << to_string(problem, "f");
  }
  return config;
}

}  // namespace spillway::app::testing
