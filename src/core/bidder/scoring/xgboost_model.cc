#include "bidder/scoring/xgboost_model.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bidder/scoring/document.h"
#include "bidder/scoring/document_reader.h"
#include "bidder/scoring/model_file.h"
#include "bidder/scoring/tree_model.h"

namespace spillway::bidder {

namespace {

/// An objective: how its margins become answers, and how its base score becomes a margin.
struct Objective {
  std::string_view name;
  Link answer;
  Link base;
};

constexpr std::array kObjectives{
    Objective{"binary:logistic", Link::kLogistic, Link::kLogistic},
    Objective{"binary:logitraw", Link::kIdentity, Link::kIdentity},
    Objective{"reg:logistic", Link::kLogistic, Link::kLogistic},
    Objective{"reg:squarederror", Link::kIdentity, Link::kIdentity},
    Objective{"reg:squaredlogerror", Link::kIdentity, Link::kIdentity},
    Objective{"reg:pseudohubererror", Link::kIdentity, Link::kIdentity},
    Objective{"reg:absoluteerror", Link::kIdentity, Link::kIdentity},
    Objective{"count:poisson", Link::kExp, Link::kExp},
    Objective{"reg:gamma", Link::kExp, Link::kExp},
    Objective{"reg:tweedie", Link::kExp, Link::kExp},
};

// The margin whose answer is the base score; nullopt when there is none.
std::optional<float> margin_of(Link link, float base_score) {
  switch (link) {
    case Link::kLogistic:
      if (base_score <= 0 || base_score >= 1) {
        return std::nullopt;
      }
      return -std::log(1.0F / base_score - 1.0F);
    case Link::kExp:
      if (base_score <= 0) {
        return std::nullopt;
      }
      return std::log(base_score);
    case Link::kIdentity:
      break;
  }
  return base_score;
}

std::string_view sentence_of(TreeErrc error) {
  switch (error) {
    case TreeErrc::kEmpty:
      return "the tree has no node";
    case TreeErrc::kTooLarge:
      return "more than 32768 nodes in a tree, or 16384 trees";
    case TreeErrc::kBadChild:
      return "a child that is not in the tree, is alone, or has two parents";
    case TreeErrc::kBadFeature:
      return "it splits by a feature that the model does not have";
    case TreeErrc::kNotFinite:
      return "its threshold is NaN, or its leaf not finite";
  }
  return "";
}

/// The arrays of one tree, as long as each other.
struct TreeColumns {
  const std::vector<double>& left;
  const std::vector<double>& right;
  const std::vector<double>& features;
  const std::vector<double>& values;
  const std::vector<double>& defaults;
};

// Whole numbers in the range of int32; anything else becomes what no node is.
int32_t whole(double number) {
  constexpr int32_t kNowhere = INT32_MAX;
  return number >= -1 && number < kNowhere && number == std::floor(number)
             ? static_cast<int32_t>(number)
             : kNowhere;
}

std::vector<TreeNode> nodes_of(const TreeColumns& columns) {
  std::vector<TreeNode> nodes(columns.left.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = {.left = whole(columns.left[i]),
                .right = whole(columns.right[i]),
                .feature = static_cast<uint32_t>(whole(columns.features[i])),
                .value = static_cast<float>(columns.values[i]),
                .default_left = columns.defaults[i] != 0};
  }
  return nodes;
}

void read_tree(DocumentReader& reader, const DocValue& tree, const std::string& path,
               TreeModel& out) {
  if (const auto* types = tree.find("split_type");
      types != nullptr && std::ranges::any_of(types->numbers, [](double t) { return t != 0; })) {
    reader.fail(ModelErrc::kUnknownKind,
                path +
                    ".split_type: categorical splits are not served; encode the category as "
                    "numbers");
    return;
  }
  const TreeColumns columns{
      reader.numbers(tree, "left_children", path), reader.numbers(tree, "right_children", path),
      reader.numbers(tree, "split_indices", path), reader.numbers(tree, "split_conditions", path),
      reader.numbers(tree, "default_left", path)};
  if (!reader.ok()) {
    return;
  }
  for (const auto* column :
       {&columns.right, &columns.features, &columns.values, &columns.defaults}) {
    if (column->size() != columns.left.size()) {
      reader.fail(ModelErrc::kBadTree, path + ": its arrays are not equally long");
      return;
    }
  }
  TreeModel::Problem problem;
  if (!out.add_tree(nodes_of(columns), problem)) {
    reader.fail(ModelErrc::kBadTree, path + ": node " + std::to_string(problem.node) + ": " +
                                         std::string(sentence_of(problem.error)));
  }
}

std::optional<TreeModel> read_head(DocumentReader& reader, const DocValue& learner,
                                   const std::string& path) {
  const DocValue& parameters = reader.object(learner, "learner_model_param", path);
  const std::string parameters_path = DocumentReader::below(path, "learner_model_param");
  const double features = reader.number_text(parameters, "num_feature", parameters_path);
  const auto base_score =
      static_cast<float>(reader.number_text(parameters, "base_score", parameters_path));
  const DocValue& objective = reader.object(learner, "objective", path);
  const std::string& name =
      reader.text(objective, "name", DocumentReader::below(path, "objective"));
  if (!reader.ok()) {
    return std::nullopt;
  }
  for (const std::string_view outputs : {"num_class", "num_target"}) {
    if (parameters.find(outputs) != nullptr &&
        reader.number_text(parameters, outputs, parameters_path) > 1) {
      reader.fail(ModelErrc::kUnknownKind, parameters_path + "." + std::string(outputs) +
                                               ": models with one answer are served alone");
    }
  }
  const auto* const known = std::ranges::find(kObjectives, name, &Objective::name);
  if (known == kObjectives.end()) {
    reader.fail(ModelErrc::kUnknownKind,
                path + ".objective.name: \"" + name.substr(0, 40) + "\" is not served");
    return std::nullopt;
  }
  if (!(features >= 0 && features <= TreeModel::kMaxFeatures)) {
    reader.fail(ModelErrc::kBadValue, parameters_path + ".num_feature: must be 0 to 32767");
    return std::nullopt;
  }
  const auto margin = margin_of(known->base, base_score);
  if (!margin || !std::isfinite(*margin)) {
    reader.fail(ModelErrc::kBadValue,
                parameters_path + ".base_score: no answer of the objective \"" + name + "\"");
    return std::nullopt;
  }
  return TreeModel(known->answer, *margin, static_cast<size_t>(features));
}

}  // namespace

base::Result<XgboostModel, ModelError> read_xgboost(const DocValue& document,
                                                    const std::string& path) {
  DocumentReader reader;
  const DocValue& learner = reader.object(document, "learner", path);
  const std::string learner_path = DocumentReader::below(path, "learner");
  const DocValue& booster = reader.object(learner, "gradient_booster", learner_path);
  const std::string booster_path = DocumentReader::below(learner_path, "gradient_booster");
  const std::string& kind = reader.text(booster, "name", booster_path);
  if (reader.ok() && kind != "gbtree") {
    reader.fail(ModelErrc::kUnknownKind, booster_path + ".name: the booster \"" +
                                             kind.substr(0, 40) + "\" is not served, gbtree is");
  }
  auto trees = read_head(reader, learner, learner_path);
  if (!trees) {
    return std::unexpected(reader.error());
  }
  std::vector<std::string> names = reader.texts(learner, "feature_names", learner_path);
  const DocValue& model = reader.object(booster, "model", booster_path);
  const std::string model_path = DocumentReader::below(booster_path, "model");
  const std::vector<DocValue>& list = reader.list(model, "trees", model_path);
  for (size_t i = 0; reader.ok() && i < list.size(); ++i) {
    read_tree(reader, list[i], model_path + ".trees[" + std::to_string(i) + "]", *trees);
  }
  if (reader.ok() && !names.empty() && names.size() != trees->features()) {
    reader.fail(ModelErrc::kBadValue,
                learner_path + ".feature_names: " + std::to_string(names.size()) + " names for " +
                    std::to_string(trees->features()) + " features");
  }
  if (reader.ok() && trees->largest_margin() > FLT_MAX) {
    reader.fail(ModelErrc::kBadValue, model_path + ".trees: their leaves sum to infinity");
  }
  if (!reader.ok()) {
    return std::unexpected(reader.error());
  }
  return XgboostModel{std::move(*trees), std::move(names)};
}

}  // namespace spillway::bidder
