#include "bidder/scoring/model_file.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/scoring/features.h"
#include "bidder/scoring/model.h"
#include "bidder/scoring/trained_model_test.h"
#include "bidder/scoring/tree_model.h"

namespace spillway::bidder {
namespace {

constexpr std::array<std::string_view, 4> kSomeFeatures{"hour", "device_mobile", "floor_cpm",
                                                        "segment_count"};

std::string array_of(const float* values, size_t count) {
  std::string out = "[";
  for (size_t i = 0; i < count; ++i) {
    out += (i == 0 ? "" : ",") + (std::isnan(values[i]) ? "null" : std::to_string(values[i]));
  }
  return out + "]";
}

// A model file of a model over kSomeFeatures, with vectors that `off` is added to.
std::string file_of(const TrainedModel& trained, double off = 0) {
  const TrainedRows rows = random_rows(20, kSomeFeatures.size(), 0.2, 9);
  std::string out = R"({"format":"spillway-model-1","name":"ctr-1","kind":"xgboost","features":[)";
  for (const auto& name : kSomeFeatures) {
    out += (out.back() == '[' ? "\"" : ",\"") + std::string(name) + "\"";
  }
  out += R"(],"parity":{"tolerance":1e-5,"rows":[)";
  for (size_t i = 0; i < rows.count(); ++i) {
    out += (i == 0 ? "" : ",") + array_of(rows.values.data() + i * rows.columns, rows.columns);
  }
  std::vector<float> expected = trained.predict(rows);
  expected.back() += static_cast<float>(off);
  return out + R"(],"expected":)" + array_of(expected.data(), expected.size()) + R"(},"model":)" +
         trained.save("json") + "}";
}

TrainedModel::Shape small() { return {.columns = 4, .rounds = 5, .depth = 3, .rows = 500}; }

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

ModelError refusal(std::string_view bytes) {
  auto model = load_model(bytes);
  EXPECT_FALSE(model.has_value());
  return model ? ModelError{} : model.error();
}

TEST(ModelFile, ColumnsAreFeaturesByNameWhateverTheirOrder) {
  const TrainedModel trained(small());
  const auto model = load_model(file_of(trained));
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_EQ(model->name(), "ctr-1");
  TrainedRows columns = random_rows(1, 4, 0, 4);
  FeatureRow row;
  row.fill(-1000);
  for (size_t i = 0; i < kSomeFeatures.size(); ++i) {
    at(row, feature_named(kSomeFeatures[i]).value_or(Feature{})) = columns.values[i];
  }
  const float* const rows[] = {row.data()};
  float answer = 0;
  model->predict(rows, {&answer, 1});
  EXPECT_NEAR(answer, trained.predict(columns).front(), 1e-6);
}

TEST(ModelFile, AModelThatAnswersOtherThanItsTrainerSaidIsRefused) {
  const ModelError error = refusal(file_of(TrainedModel(small()), 0.001));
  EXPECT_EQ(error.code, ModelErrc::kParity);
  EXPECT_EQ(error.what.substr(0, 16), "parity.rows[19]:");
}

TEST(ModelFile, AnExpectedAnswerThatIsNoNumberIsRefused) {
  const std::string file =
      R"({"format":"spillway-model-1","name":"l","kind":"linear","features":["hour"],)"
      R"("link":"identity","bias":0,"weights":[1],)"
      R"("parity":{"tolerance":1e-6,"rows":[[0]],"expected":[null]}})";
  EXPECT_EQ(refusal(file).code, ModelErrc::kParity);
}

TEST(ModelFile, AModelWithoutVectorsDoesNotServe) {
  const TrainedModel trained(small());
  EXPECT_EQ(refusal(trained.save("ubj")).code, ModelErrc::kNoParity);
  const auto read = read_model_file(trained.save("ubj"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->parity.columns, 4U);
}

TEST(ModelFile, NamesThatAModelWasTrainedWithAreItsColumns) {
  TrainedModel::Shape shape = small();
  shape.names.assign(kSomeFeatures.begin(), kSomeFeatures.end());
  const auto read = read_model_file(TrainedModel(shape).save("json"));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->features, shape.names);
}

TEST(ModelFile, EveryRefusalNamesItsReasonAndPlace) {
  const std::string good = file_of(TrainedModel(small()));

  struct Case {
    std::string_view what;
    std::string_view by;
    ModelErrc code;
    std::string_view says;
  };

  for (const Case& broken : {
           Case{"spillway-model-1", "spillway-model-2", ModelErrc::kUnknownKind, "format: must be"},
           Case{"\"xgboost\"", "\"forest\"", ModelErrc::kUnknownKind, "kind: must be"},
           Case{"segment_count", "segment_cuont", ModelErrc::kBadFeature,
                "features: \"segment_cuont\" is none of"},
           Case{"segment_count", "hour", ModelErrc::kBadFeature,
                "features: \"hour\" is there twice"},
           Case{"\"hour\",", "", ModelErrc::kBadFeature, "features: 3 names for a model of 4"},
           Case{"1e-5", "0.5", ModelErrc::kBadValue, "parity.tolerance:"},
           Case{"\"gbtree\"", "\"dart\"", ModelErrc::kUnknownKind,
                "model.learner.gradient_booster.name: the booster \"dart\" is not served"},
           Case{"binary:logistic", "rank:pairwise", ModelErrc::kUnknownKind,
                "model.learner.objective.name: \"rank:pairwise\" is not served"},
           Case{"\"num_class\":\"0\"", "\"num_class\":\"3\"", ModelErrc::kUnknownKind,
                "model.learner.learner_model_param.num_class:"},
           Case{"\"base_score\":\"5E-1\"", "\"base_score\":\"1E0\"", ModelErrc::kBadValue,
                "model.learner.learner_model_param.base_score:"},
           Case{"\"base_score\":\"5E-1\"", "\"base_score\":\"x\"", ModelErrc::kBadValue,
                "model.learner.learner_model_param.base_score: \"x\" is no number"},
           Case{"\"split_type\":[0", "\"split_type\":[1", ModelErrc::kUnknownKind,
                "model.learner.gradient_booster.model.trees[0].split_type: categorical"},
           Case{"\"left_children\":[1", "\"left_children\":[0", ModelErrc::kBadTree,
                "model.learner.gradient_booster.model.trees[0]: node 0: a child"},
           Case{"\"left_children\":[1,", "\"left_children\":[", ModelErrc::kBadTree,
                "model.learner.gradient_booster.model.trees[0]: its arrays are not equally long"},
           Case{"\"left_children\"", "\"sinister\"", ModelErrc::kMissing,
                "model.learner.gradient_booster.model.trees[0].left_children: missing"},
           Case{"\"split_indices\":[", "\"split_indices\":[7", ModelErrc::kBadTree,
                "model.learner.gradient_booster.model.trees[0]: node 0: it splits by a feature"},
           Case{"\"model\":{\"learner\"", "\"model\":{\"teacher\"", ModelErrc::kMissing,
                "model.learner: missing"},
       }) {
    const ModelError error = refusal(replaced(good, broken.what, broken.by));
    EXPECT_EQ(error.code, broken.code) << broken.by;
    EXPECT_TRUE(error.what.starts_with(broken.says)) << error.what;
  }
}

TEST(ModelFile, CategoricalSplitsAreRefused) {
  const auto refused = refusal(
      replaced(TrainedModel(small()).save("json"), "\"split_type\":[0", "\"split_type\":[1"));
  EXPECT_EQ(refused.code, ModelErrc::kUnknownKind);
}

TEST(ModelFile, ALinearModelCountsMissingFeaturesAsTheirDefaults) {
  const std::string file =
      R"({"format":"spillway-model-1","name":"linear","kind":"linear",)"
      R"("features":["floor_cpm","hour"],"link":"logistic","bias":-2,"weights":[0.5,0.1],)"
      R"("defaults":[4,0],"parity":{"tolerance":1e-6,"rows":[[2,10],[null,10]],)"
      R"("expected":[0.5,0.7310585786300049]}})";
  const auto model = load_model(file);
  ASSERT_TRUE(model) << model.error().what;
  FeatureRow row;
  row.fill(std::numeric_limits<float>::quiet_NaN());
  const float* const rows[] = {row.data()};
  float answer = 0;
  model->predict(rows, {&answer, 1});
  EXPECT_FLOAT_EQ(answer, 0.5F);
}

TEST(ModelFile, AConstantNeedsNoVectors) {
  const auto model =
      load_model(R"({"format":"spillway-model-1","name":"c","kind":"constant","value":0.25})");
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_EQ(
      refusal(R"({"format":"spillway-model-1","name":"c","kind":"constant","value":1.25})").code,
      ModelErrc::kBadValue);
}

TEST(ModelFile, ANameIsShortAndPrints) {
  for (const std::string& name : {std::string("a b"), std::string("a\\u001b[31m"),
                                  std::string("a\\n"), std::string(65, 'a')}) {
    const auto refused = refusal(
        R"({"format":"spillway-model-1","kind":"constant","value":0.25,"name":")" + name + "\"}");
    EXPECT_EQ(refused.code, ModelErrc::kBadValue) << name;
    EXPECT_TRUE(refused.what.starts_with("name: ")) << refused.what;
  }
  EXPECT_TRUE(load_model(R"({"format":"spillway-model-1","kind":"constant","value":0.25,"name":")" +
                         std::string(64, 'a') + "\"}"));
}

TEST(Model, AnswersThatAreNoProbabilityBecomeOne) {
  LinearModel linear{.link = Link::kIdentity, .bias = 0, .weights = {1}, .defaults = {0}};
  const Model model("m", linear);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values{0.25F, -1, 7, kInfinity, -kInfinity};
  const std::vector<float> expected{0.25F, 0, 1, 1, 0};
  for (size_t i = 0; i < values.size(); ++i) {
    const float* const rows[] = {&values[i]};
    float answer = 0;
    model.predict(rows, {&answer, 1});
    EXPECT_EQ(answer, expected[i]);
  }
  // Two infinities of opposite signs sum to what is no number.
  const Model mixed(
      "m", LinearModel{.link = Link::kIdentity, .bias = 0, .weights = {1, -1}, .defaults = {0, 0}});
  const std::vector<float> both{kInfinity, kInfinity};
  const float* const rows[] = {both.data()};
  float answer = 1;
  mixed.predict(rows, {&answer, 1});
  EXPECT_EQ(answer, 0);
}

TEST(Features, EveryNameIsUniqueAndFound) {
  for (size_t i = 0; i < kFeatures; ++i) {
    const auto feature = static_cast<Feature>(i);
    EXPECT_FALSE(to_string(feature).empty());
    EXPECT_EQ(feature_named(to_string(feature)), feature);
  }
  EXPECT_FALSE(feature_named("market"));
}

TEST(Features, EveryOneIsDocumented) {
  std::ifstream page(SPILLWAY_SOURCE_DIR "/docs/scoring.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  for (size_t i = 0; i < kFeatures; ++i) {
    const auto name = "`" + std::string(to_string(static_cast<Feature>(i))) + "`";
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
  for (size_t i = 0; i < kModelErrcs; ++i) {
    const auto name = "`" + std::string(to_string(static_cast<ModelErrc>(i))) + "`";
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace spillway::bidder
