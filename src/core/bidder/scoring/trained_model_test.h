#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <xgboost/c_api.h>

#include "base/assert.h"
#include "base/rng.h"

namespace spillway::bidder {

/// Rows of floats, NaN where missing.
struct TrainedRows {
  size_t columns = 0;
  std::vector<float> values;

  [[nodiscard]] size_t count() const { return columns == 0 ? 0 : values.size() / columns; }
};

inline TrainedRows random_rows(size_t count, size_t columns, double missing_ratio, uint64_t seed) {
  base::Rng rng(seed);
  TrainedRows rows{.columns = columns, .values = std::vector<float>(count * columns)};
  for (float& value : rows.values) {
    // Coarse values, so that many rows stand exactly on a threshold.
    value = rng.uniform() < missing_ratio ? std::numeric_limits<float>::quiet_NaN()
                                          : static_cast<float>(std::round(rng.normal() * 8) / 8);
  }
  return rows;
}

/// A model that libxgboost has just trained: the oracle of tests and the baseline of benches.
class TrainedModel {
 public:
  struct Shape {
    std::string objective = "binary:logistic";
    size_t columns = 13;
    int rounds = 20;
    int depth = 6;
    double missing_ratio = 0;
    double gamma = 0;
    size_t rows = 4'000;
    std::vector<std::string> names{};
  };

  explicit TrainedModel(const Shape& shape) {
    const TrainedRows rows = random_rows(shape.rows, shape.columns, shape.missing_ratio, 1);
    base::Rng rng(2);
    std::vector<float> labels(rows.count());
    for (size_t i = 0; i < labels.size(); ++i) {
      const float* const row = rows.values.data() + i * rows.columns;
      const double x = (std::isnan(row[0]) ? 0.7 : row[0]) - (std::isnan(row[1]) ? 0.1 : row[1]);
      labels[i] =
          x + rng.normal() > 0 ? 1.0F : 0.1F * (shape.objective == "reg:gamma" ? 1.0F : 0.0F);
    }
    DMatrixHandle matrix = matrix_of(rows);
    check(XGDMatrixSetFloatInfo(matrix, "label", labels.data(), labels.size()));
    check(XGBoosterCreate(&matrix, 1, &booster_));
    if (!shape.names.empty()) {
      std::vector<const char*> names;
      names.reserve(shape.names.size());
      for (const auto& name : shape.names) {
        names.push_back(name.c_str());
      }
      check(XGBoosterSetStrFeatureInfo(booster_, "feature_name", names.data(), names.size()));
    }
    set("objective", shape.objective);
    set("max_depth", std::to_string(shape.depth));
    set("gamma", std::to_string(shape.gamma));
    set("nthread", "1");
    set("verbosity", "0");
    set("seed", "3");
    for (int round = 0; round < shape.rounds; ++round) {
      check(XGBoosterUpdateOneIter(booster_, round, matrix));
    }
    check(XGDMatrixFree(matrix));
  }

  TrainedModel(const TrainedModel&) = delete;
  TrainedModel& operator=(const TrainedModel&) = delete;

  ~TrainedModel() { XGBoosterFree(booster_); }

  /// The document, "json" or "ubj".
  [[nodiscard]] std::string save(std::string_view format) const {
    const std::string config = R"({"format":")" + std::string(format) + "\"}";
    bst_ulong size = 0;
    const char* bytes = nullptr;
    check(XGBoosterSaveModelToBuffer(booster_, config.c_str(), &size, &bytes));
    return {bytes, size};
  }

  [[nodiscard]] std::vector<float> predict(const TrainedRows& rows) const {
    DMatrixHandle matrix = matrix_of(rows);
    const char* config =
        R"({"type":0,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false})";
    const bst_ulong* shape = nullptr;
    bst_ulong dimensions = 0;
    const float* answers = nullptr;
    check(XGBoosterPredictFromDMatrix(booster_, matrix, config, &shape, &dimensions, &answers));
    std::vector<float> out(answers, answers + rows.count());
    check(XGDMatrixFree(matrix));
    return out;
  }

  [[nodiscard]] BoosterHandle handle() const { return booster_; }

 private:
  static void check(int status) { SPILLWAY_ASSERT(status == 0); }

  static DMatrixHandle matrix_of(const TrainedRows& rows) {
    DMatrixHandle matrix = nullptr;
    check(XGDMatrixCreateFromMat(rows.values.data(), rows.count(), rows.columns,
                                 std::numeric_limits<float>::quiet_NaN(), &matrix));
    return matrix;
  }

  void set(const char* name, const std::string& value) {
    check(XGBoosterSetParam(booster_, name, value.c_str()));
  }

  BoosterHandle booster_ = nullptr;
};

}  // namespace spillway::bidder
