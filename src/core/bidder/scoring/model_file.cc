#include "bidder/scoring/model_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "bidder/scoring/document.h"
#include "bidder/scoring/document_reader.h"
#include "bidder/scoring/features.h"
#include "bidder/scoring/model.h"
#include "bidder/scoring/tree_model.h"
#include "bidder/scoring/xgboost_model.h"

namespace spillway::bidder {

namespace {

constexpr std::string_view kFormat = "spillway-model-1";

std::optional<Link> link_named(std::string_view name) {
  if (name == "logistic") {
    return Link::kLogistic;
  }
  if (name == "identity") {
    return Link::kIdentity;
  }
  return name == "exp" ? std::optional(Link::kExp) : std::nullopt;
}

std::vector<float> as_floats(const std::vector<double>& numbers) {
  std::vector<float> floats(numbers.size());
  std::ranges::transform(numbers, floats.begin(), [](double x) { return static_cast<float>(x); });
  return floats;
}

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

LinearModel read_linear(DocumentReader& reader, const DocValue& root, size_t columns) {
  LinearModel model;
  const std::string& link = reader.text(root, "link", "");
  model.bias = static_cast<float>(reader.number(root, "bias", ""));
  model.weights = as_floats(reader.numbers(root, "weights", ""));
  model.defaults.assign(model.weights.size(), 0);
  if (root.find("defaults") != nullptr) {
    model.defaults = as_floats(reader.numbers(root, "defaults", ""));
  }
  if (!reader.ok()) {
    return model;
  }
  if (const auto known = link_named(link)) {
    model.link = *known;
  } else {
    reader.fail(ModelErrc::kBadValue, "link: must be logistic, identity or exp");
  }
  if (model.weights.size() != columns || model.defaults.size() != columns) {
    reader.fail(ModelErrc::kBadValue,
                "weights, defaults: must be as many as features, " + std::to_string(columns));
  }
  if (!std::isfinite(model.bias) || !all_finite(model.weights) || !all_finite(model.defaults)) {
    reader.fail(ModelErrc::kBadValue, "bias, weights, defaults: must be finite");
  }
  return model;
}

ParityVectors read_parity(DocumentReader& reader, const DocValue& root, size_t columns) {
  constexpr double kMostTolerance = 0.01;
  ParityVectors parity;
  parity.columns = columns;
  if (root.find("parity") == nullptr) {
    return parity;
  }
  const DocValue& from = reader.object(root, "parity", "");
  parity.tolerance = reader.number(from, "tolerance", "parity");
  parity.expected = reader.numbers(from, "expected", "parity");
  for (const DocValue& row : reader.list(from, "rows", "parity")) {
    if (row.kind != DocValue::Kind::kNumbers || row.numbers.size() != columns) {
      reader.fail(ModelErrc::kBadValue,
                  "parity.rows: each must have " + std::to_string(columns) + " numbers or nulls");
      return parity;
    }
    const auto floats = as_floats(row.numbers);
    parity.rows.insert(parity.rows.end(), floats.begin(), floats.end());
  }
  if (!reader.ok()) {
    return parity;
  }
  if (!(parity.tolerance > 0 && parity.tolerance <= kMostTolerance)) {
    reader.fail(ModelErrc::kBadValue, "parity.tolerance: must be above 0, at most 0.01");
  }
  if (parity.rows.size() != parity.expected.size() * columns) {
    reader.fail(ModelErrc::kBadValue, "parity: rows and expected must be equally many");
  }
  return parity;
}

base::Result<ModelFile, ModelError> bare_xgboost(const DocValue& root) {
  auto read = read_xgboost(root, "");
  if (!read) {
    return std::unexpected(std::move(read.error()));
  }
  ModelFile file;
  file.features = std::move(read->features);
  file.parity.columns = read->trees.features();
  file.model = Model("xgboost", std::move(read->trees));
  return file;
}

std::optional<Model::Any> read_any(DocumentReader& reader, const DocValue& root, size_t columns) {
  const std::string& kind = reader.text(root, "kind", "");
  if (kind == "constant") {
    const auto value = static_cast<float>(reader.number(root, "value", ""));
    if (reader.ok() && !(value >= 0 && value <= 1)) {
      reader.fail(ModelErrc::kBadValue, "value: must be 0 to 1");
    }
    return ConstantModel{value};
  }
  if (kind == "linear") {
    return read_linear(reader, root, columns);
  }
  if (kind != "xgboost") {
    reader.fail(ModelErrc::kUnknownKind, "kind: must be xgboost, linear or constant");
    return std::nullopt;
  }
  auto read = read_xgboost(reader.object(root, "model", ""), "model");
  if (!reader.ok() || !read) {
    reader.fail(reader.ok() ? read.error().code : ModelErrc::kMissing,
                reader.ok() ? read.error().what : "");
    return std::nullopt;
  }
  if (read->trees.features() != columns || (!read->features.empty() && columns == 0)) {
    reader.fail(ModelErrc::kBadFeature, "features: " + std::to_string(columns) +
                                            " names for a model of " +
                                            std::to_string(read->trees.features()));
  }
  return std::move(read->trees);
}

// The feature of each column; nullopt and why when one is unknown or there twice.
std::optional<std::vector<uint16_t>> features_of(const ModelFile& file, std::string& why) {
  std::vector<uint16_t> columns;
  for (const std::string& name : file.features) {
    const auto feature = feature_named(name);
    if (!feature) {
      why = "features: \"" + name.substr(0, 64) + "\" is none of those in docs/scoring.md";
      return std::nullopt;
    }
    const auto column = static_cast<uint16_t>(*feature);
    if (std::ranges::find(columns, column) != columns.end()) {
      why = "features: \"" + name + "\" is there twice";
      return std::nullopt;
    }
    columns.push_back(column);
  }
  return columns;
}

struct OverFeatures {
  std::span<const uint16_t> columns;

  Model::Any operator()(const ConstantModel& model) const { return model; }

  Model::Any operator()(const TreeModel& model) const { return model.over(columns, kFeatures); }

  Model::Any operator()(const LinearModel& model) const {
    LinearModel moved = model;
    moved.weights.assign(kFeatures, 0);
    moved.defaults.assign(kFeatures, 0);
    for (size_t i = 0; i < columns.size(); ++i) {
      moved.weights[columns[i]] = model.weights[i];
      moved.defaults[columns[i]] = model.defaults[i];
    }
    return moved;
  }
};

}  // namespace

std::string_view to_string(ModelErrc error) {
  constexpr std::array<std::string_view, kModelErrcs> kNames{
      "too_large",   "syntax",   "unknown_kind", "missing", "bad_value",
      "bad_feature", "bad_tree", "no_parity",    "parity"};
  return kNames[static_cast<size_t>(error)];
}

base::Result<ModelFile, ModelError> read_model_file(std::string_view bytes) {
  const auto root = read_document(bytes);
  if (!root) {
    return std::unexpected(root.error());
  }
  if (root->kind != DocValue::Kind::kObject) {
    return std::unexpected(ModelError{ModelErrc::kSyntax, "it is no object"});
  }
  if (root->find("learner") != nullptr) {
    return bare_xgboost(*root);
  }
  DocumentReader reader;
  ModelFile file;
  if (reader.text(*root, "format", "") != kFormat) {
    reader.fail(ModelErrc::kUnknownKind, "format: must be \"" + std::string(kFormat) + "\"");
  }
  file.name = reader.text(*root, "name", "");
  constexpr size_t kNameBytes = 64;
  const auto prints = [](char c) { return c > ' ' && c <= '~'; };
  if (file.name.size() > kNameBytes || !std::ranges::all_of(file.name, prints)) {
    reader.fail(ModelErrc::kBadValue,
                "name: must be at most 64 letters, digits and signs of ASCII");
  }
  file.features = reader.texts(*root, "features", "");
  auto any = read_any(reader, *root, file.features.size());
  file.parity = read_parity(reader, *root, file.features.size());
  if (!any || !reader.ok()) {
    return std::unexpected(reader.error());
  }
  file.model = Model(file.name, std::move(*any));
  return file;
}

std::string parity_problem(const ModelFile& file) {
  const ParityVectors& parity = file.parity;
  std::vector<const float*> rows(parity.expected.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = parity.rows.data() + i * parity.columns;
  }
  std::vector<float> answers(rows.size());
  std::visit([&](const auto& model) { model.predict(rows, answers); }, file.model.any());
  size_t worst = 0;
  double worst_by = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    // An answer that is no number differs by more than any tolerance.
    const double by = std::abs(static_cast<double>(answers[i]) - parity.expected[i]);
    if (!(by <= worst_by)) {
      worst = i;
      worst_by = by;
      if (std::isnan(by)) {
        break;
      }
    }
  }
  if (worst_by <= parity.tolerance) {
    return {};
  }
  return "parity.rows[" + std::to_string(worst) + "]: answers " + std::to_string(answers[worst]) +
         ", expected " + std::to_string(parity.expected[worst]);
}

base::Result<Model, ModelError> load_model(std::string_view bytes) {
  auto file = read_model_file(bytes);
  if (!file) {
    return std::unexpected(std::move(file.error()));
  }
  const bool constant = std::holds_alternative<ConstantModel>(file->model.any());
  if (!constant && file->parity.expected.empty()) {
    return std::unexpected(ModelError{
        ModelErrc::kNoParity,
        "parity: no vectors to check it by; make a model file with spillway model convert"});
  }
  if (const std::string problem = parity_problem(*file); !problem.empty()) {
    return std::unexpected(ModelError{ModelErrc::kParity, problem});
  }
  std::string why;
  const auto columns = features_of(*file, why);
  if (!columns) {
    return std::unexpected(ModelError{ModelErrc::kBadFeature, why});
  }
  return Model(file->name, std::visit(OverFeatures{*columns}, file->model.any()));
}

}  // namespace spillway::bidder
