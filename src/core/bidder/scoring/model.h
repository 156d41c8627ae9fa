#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "bidder/scoring/features.h"
#include "bidder/scoring/tree_model.h"

namespace spillway::bidder {

/// A weighted sum over the whole row; a feature that is NaN counts as its default.
struct LinearModel {
  Link link = Link::kLogistic;
  float bias = 0;
  std::vector<float> weights;   ///< By column.
  std::vector<float> defaults;  ///< By column; as many.

  void predict(std::span<const float* const> rows, std::span<float> out) const;
};

/// One probability for everything.
struct ConstantModel {
  float value = 0;

  void predict(std::span<const float* const> rows, std::span<float> out) const;
};

/// Something that says how likely the goal is, from rows of features by Feature. Immutable, shared
/// by all threads.
class Model {
 public:
  using Any = std::variant<ConstantModel, LinearModel, TreeModel>;

  Model() = default;

  Model(std::string name, Any any) : name_(std::move(name)), any_(std::move(any)) {}

  /// One answer a row, each in [0, 1] whatever the model is: answers outside are moved to the
  /// nearer end, and what is no number is 0. Does not allocate. Requires out.size() == rows.size().
  void predict(std::span<const float* const> rows, std::span<float> out) const;

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const Any& any() const { return any_; }

 private:
  std::string name_ = "zero";
  Any any_ = ConstantModel{};
};

}  // namespace spillway::bidder
