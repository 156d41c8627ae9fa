#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spillway::app {

struct ConvertOptions {
  std::string name;                     ///< The model's, for metrics and events.
  std::vector<std::string> features{};  ///< Of its columns; empty: the names it was trained with.
  size_t rows = 200;                    ///< Parity vectors; 1 to 10,000.
  uint64_t seed = 1;
  double tolerance = 1e-6;
};

/// A model file (docs/scoring.md) of a model that XGBoost saved as .json or .ubj: its columns by
/// name, and rows around its own thresholds with libxgboost's answers. The error is one sentence.
/// A file is made only if our own evaluator agrees with those answers.
[[nodiscard]] base::Result<std::string, std::string> convert_model(std::string_view xgboost,
                                                                   const ConvertOptions& options);

}  // namespace spillway::app
