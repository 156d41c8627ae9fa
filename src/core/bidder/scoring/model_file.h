#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bidder/scoring/model.h"

namespace spillway::bidder {

enum class ModelErrc : uint8_t {
  kTooLarge,     ///< More bytes or values than a model may have.
  kSyntax,       ///< Neither JSON nor UBJSON.
  kUnknownKind,  ///< No kind of model that is known here, or a form of one that is not served.
  kMissing,      ///< A member is missing or has the wrong type.
  kBadValue,     ///< A member's value makes no sense.
  kBadFeature,   ///< A feature's name is unknown, or there twice.
  kBadTree,      ///< A tree that is none.
  kNoParity,     ///< No parity vectors: nobody said what the model should answer.
  kParity,       ///< An answer differs from the file's by more than the tolerance.
};

inline constexpr size_t kModelErrcs = 9;

/// snake_case, as in metrics and logs.
[[nodiscard]] std::string_view to_string(ModelErrc error);

/// Why a model is refused, and where: "learner.gradient_booster.model.trees[3]: node 12: ...".
struct ModelError {
  ModelErrc code = ModelErrc::kSyntax;
  std::string what;
};

/// Rows and what the model's trainer says of them, shipped with the model.
struct ParityVectors {
  double tolerance = 1e-6;
  size_t columns = 0;
  std::vector<float> rows;  ///< Row by row, NaN where missing.
  std::vector<double> expected;
};

/// A file as it is read, before its parity is checked.
struct ModelFile {
  std::string name;
  std::vector<std::string> features;  ///< The model's columns.
  Model model;                        ///< Over those columns.
  ParityVectors parity;
};

inline constexpr size_t kMaxModelBytes = 64U << 20;

/// Reads a model file of docs/scoring.md, in JSON or UBJSON: XGBoost 1.7's own document, a linear
/// model or a constant, with its columns and vectors. Also reads XGBoost's bare document, which has
/// no vectors and, unless it was trained with names, no columns. Allocates; off the request path.
[[nodiscard]] base::Result<ModelFile, ModelError> read_model_file(std::string_view bytes);

/// The row and both answers that differ most, in a sentence; empty when all agree.
[[nodiscard]] std::string parity_problem(const ModelFile& file);

/// Reads a file, checks its parity and turns its columns into features: the model that may serve.
[[nodiscard]] base::Result<Model, ModelError> load_model(std::string_view bytes);

}  // namespace spillway::bidder
