#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bidder/scoring/document.h"
#include "bidder/scoring/model_file.h"
#include "bidder/scoring/tree_model.h"

namespace spillway::bidder {

struct XgboostModel {
  TreeModel trees;
  std::vector<std::string> features;  ///< Columns by name; empty when it was trained without.
};

/// Reads the document that XGBoost 1.7 saves (as .json or .ubj): boosted trees (`gbtree`) with one
/// output, numerical splits, and an objective whose answer is a logistic, an exponential or the sum
/// itself. What cannot be evaluated to the last bit is refused by name: other boosters, several
/// classes or targets, categorical splits, other objectives. `path` is where the document lies in
/// its file, for errors.
/// Source: XGBoost 1.7, doc/model.schema.
[[nodiscard]] base::Result<XgboostModel, ModelError> read_xgboost(const DocValue& document,
                                                                  const std::string& path);

}  // namespace spillway::bidder
