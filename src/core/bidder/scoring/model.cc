#include "bidder/scoring/model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <variant>

#include "base/assert.h"
#include "bidder/scoring/tree_model.h"

namespace spillway::bidder {

void LinearModel::predict(std::span<const float* const> rows, std::span<float> out) const {
  SPILLWAY_ASSERT(rows.size() == out.size() && weights.size() == defaults.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    double sum = bias;
    for (size_t column = 0; column < weights.size(); ++column) {
      const float x = rows[i][column];
      sum += static_cast<double>(weights[column]) * (std::isnan(x) ? defaults[column] : x);
    }
    out[i] = apply(link, static_cast<float>(sum));
  }
}

void ConstantModel::predict(std::span<const float* const> rows, std::span<float> out) const {
  SPILLWAY_ASSERT(rows.size() == out.size());
  std::ranges::fill(out, value);
}

void Model::predict(std::span<const float* const> rows, std::span<float> out) const {
  std::visit([&](const auto& model) { model.predict(rows, out); }, any_);
  for (float& answer : out) {
    answer = answer > 0 ? std::min(answer, 1.0F) : 0.0F;  // NaN compares false.
  }
}

}  // namespace spillway::bidder
