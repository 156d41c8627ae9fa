#include "bidder/scoring/cascade.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/money.h"
#include "bidder/model.h"
#include "bidder/scoring/ab_split.h"
#include "bidder/scoring/features.h"
#include "bidder/scoring/model.h"
#include "bidder/scoring/model_file.h"
#include "bidder/scoring/model_set.h"
#include "bidder/scoring/tree_model.h"

namespace spillway::bidder {
namespace {

// Answers `feature` itself times `factor`.
Model echo(Feature feature, float factor = 1) {
  LinearModel linear{.link = Link::kIdentity,
                     .bias = 0,
                     .weights = std::vector<float>(kFeatures),
                     .defaults = std::vector<float>(kFeatures)};
  linear.weights[static_cast<size_t>(feature)] = factor;
  return {"echo", linear};
}

Model constant(float value) { return {"constant", ConstantModel{value}}; }

constexpr base::Cpm kOne{1'000'000};

void add(ScoreBatch& batch, float cheap, float full, base::Cpm reached = kOne,
         Goal goal = Goal::kCpc) {
  FeatureRow* const row = batch.add(goal, reached);
  ASSERT_NE(row, nullptr);
  at(*row, Feature::kHour) = cheap;
  at(*row, Feature::kWeekday) = full;
}

TEST(Cascade, KnowsWhichGoalsNeedRows) {
  const Cascade cascade({constant(0.1F), {}}, {constant(0.2F), echo(Feature::kHour)}, 2);
  EXPECT_FALSE(cascade.reads_rows(Goal::kCpm));
  EXPECT_FALSE(cascade.reads_rows(Goal::kCpc));
  EXPECT_TRUE(cascade.reads_rows(Goal::kCpa));
  EXPECT_FALSE(Cascade().reads_rows(Goal::kCpa));
  ScoreBatch batch(2);
  ASSERT_TRUE(batch.add_without_row(Goal::kCpc, kOne));
  ASSERT_TRUE(batch.add_without_row(Goal::kCpm, kOne));
  EXPECT_FALSE(batch.add_without_row(Goal::kCpm, kOne));
  cascade.score_first_only(batch);
  EXPECT_FLOAT_EQ(static_cast<float>(batch.probability(0).value()), 0.1F);
  EXPECT_EQ(batch.probability(1), 1.0);
}

TEST(Cascade, LosersOfTheFirstStageHaveNoScoreAndCannotOutrankSurvivors) {
  // The defect: losers kept cheap scores near 1 and outranked survivors rescored to about 0.1.
  const Cascade cascade({echo(Feature::kHour), echo(Feature::kWeekday)}, {}, 2);
  ScoreBatch batch(4);
  add(batch, 0.9F, 0.10F);
  add(batch, 0.8F, 0.12F);
  add(batch, 0.7F, 0.99F);
  add(batch, 0.6F, 0.98F);
  cascade.score(batch);
  EXPECT_FLOAT_EQ(static_cast<float>(batch.probability(0).value_or(-1)), 0.10F);
  EXPECT_FLOAT_EQ(static_cast<float>(batch.probability(1).value_or(-1)), 0.12F);
  EXPECT_EQ(batch.probability(2), std::nullopt);
  EXPECT_EQ(batch.probability(3), std::nullopt);
}

TEST(Cascade, EveryScoreComesFromTheLastStageOfItsGoal) {
  const Cascade cascade({constant(0.5F), constant(0.125F)}, {constant(0.25F), {}}, 10);
  ScoreBatch batch(4);
  add(batch, 0, 0, kOne, Goal::kCpm);
  add(batch, 0, 0, kOne, Goal::kCpc);
  add(batch, 0, 0, kOne, Goal::kCpa);
  cascade.score(batch);
  EXPECT_EQ(batch.probability(0), 1);
  EXPECT_EQ(batch.probability(1), 0.125);
  EXPECT_EQ(batch.probability(2), 0.25);
  cascade.score_first_only(batch);
  EXPECT_EQ(batch.probability(1), 0.5);
}

TEST(Cascade, TheFirstStageRanksByWorthAndNotByProbabilityAlone) {
  const Cascade cascade({echo(Feature::kHour), constant(0.01F)}, {}, 1);
  ScoreBatch batch(2);
  add(batch, 0.9F, 0, {1'000'000});
  add(batch, 0.1F, 0, {20'000'000});
  cascade.score(batch);
  EXPECT_EQ(batch.probability(0), std::nullopt);
  EXPECT_TRUE(batch.probability(1));
}

TEST(Cascade, CandidatesThatTieKeepTheirOrder) {
  const Cascade cascade({constant(0.1F), constant(0.2F)}, {}, 3);
  ScoreBatch batch(8);
  for (int i = 0; i < 8; ++i) {
    add(batch, 0, 0);
  }
  cascade.score(batch);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(batch.probability(i).has_value(), i < 3);
  }
}

TEST(Cascade, OneStageLeavesNobodyOut) {
  const Cascade cascade({constant(0.1F), {}}, {}, 1);
  ScoreBatch batch(8);
  for (int i = 0; i < 8; ++i) {
    add(batch, 0, 0);
  }
  cascade.score(batch);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(batch.probability(i));
  }
}

TEST(Cascade, MissingFeaturesAndBadModelsStillGiveProbabilities) {
  const Cascade cascade({echo(Feature::kHour, 1e30F), echo(Feature::kHour, 1e30F)}, {}, 5);
  ScoreBatch batch(4);
  for (const float value : {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(), -1e30F, 1e30F}) {
    add(batch, value, 0);
  }
  cascade.score(batch);
  for (size_t i = 0; i < batch.size(); ++i) {
    const double probability = batch.probability(i).value_or(-1);
    EXPECT_TRUE(probability >= 0 && probability <= 1);
  }
}

TEST(ScoreBatch, ItTakesAsManyAsItHasRoomFor) {
  ScoreBatch batch(1);
  EXPECT_NE(batch.add(Goal::kCpm, kOne), nullptr);
  EXPECT_EQ(batch.add(Goal::kCpm, kOne), nullptr);
  batch.clear();
  EXPECT_NE(batch.add(Goal::kCpm, kOne), nullptr);
}

TEST(AbSplit, AUserStaysInAnArmAndSharesAreKept) {
  const AbSplit tenth{.seed = "autumn", .test_ratio = 0.1};
  const AbSplit fifth{.seed = "autumn", .test_ratio = 0.2};
  const AbSplit other{.seed = "winter", .test_ratio = 0.1};
  int in_test = 0;
  int in_both = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string user = "user-" + std::to_string(i);
    const bool test = tenth.arm_of(user) == Arm::kTest;
    in_test += test ? 1 : 0;
    in_both += test && other.arm_of(user) == Arm::kTest ? 1 : 0;
    EXPECT_EQ(tenth.arm_of(user), tenth.arm_of(user));
    EXPECT_TRUE(!test || fifth.arm_of(user) == Arm::kTest);
  }
  EXPECT_NEAR(in_test, 10'000, 300);
  EXPECT_NEAR(in_both, 1'000, 120);
}

TEST(AbSplit, TheSplitIsTheSameInEveryRelease) {
  const AbSplit split{.seed = "1", .test_ratio = 0.5};
  std::string arms;
  for (int i = 0; i < 16; ++i) {
    arms += split.arm_of(std::to_string(i)) == Arm::kTest ? 't' : 'c';
  }
  EXPECT_EQ(arms, "tttctcctttcttccc");
}

TEST(AbSplit, AUserWithoutAnIdIsInTheControl) {
  EXPECT_EQ((AbSplit{.seed = "1", .test_ratio = 1}.arm_of("")), Arm::kControl);
  EXPECT_EQ((AbSplit{.seed = "1", .test_ratio = 1}.arm_of("u")), Arm::kTest);
  EXPECT_EQ((AbSplit{.seed = "1", .test_ratio = 0}.arm_of("u")), Arm::kControl);
}

std::string constant_file(std::string_view value) {
  return R"({"format":"spillway-model-1","name":"c","kind":"constant","value":)" +
         std::string(value) + "}";
}

TEST(ModelSet, EachArmHasItsModelsAndConstantsWhereThereAreNone) {
  ScoringSettings settings;
  settings.test.click = {.first = "b", .then = {}};
  settings.test_ratio = 1;
  const auto set = ModelSet::build(
      settings, [](const std::string&) { return std::optional(constant_file("0.5")); });
  ASSERT_TRUE(set) << set.error().what;
  ScoreBatch batch(2);
  add(batch, 0, 0);
  add(batch, 0, 0, kOne, Goal::kCpa);
  (*set)->of(Arm::kControl).score(batch);
  EXPECT_FLOAT_EQ(static_cast<float>(batch.probability(0).value_or(-1)), 0.001F);
  EXPECT_FLOAT_EQ(static_cast<float>(batch.probability(1).value_or(-1)), 0.0001F);
  (*set)->of((*set)->arm_of("user")).score(batch);
  EXPECT_EQ(batch.probability(0), 0.5);
}

TEST(ModelReload, ABadModelKeepsTheOldOneAndSaysWhy) {
  ScoringSettings settings;
  settings.control.click.first = "ctr.json";
  std::optional<std::string> file = constant_file("0.25");
  const ModelSet::Read read = [&file](const std::string&) { return file; };
  ModelReload reload;
  auto first = reload.offer(settings, read);
  ASSERT_EQ(first.outcome, ModelReload::Outcome::kTaken);
  ASSERT_NE(first.set, nullptr);

  EXPECT_EQ(reload.offer(settings, read).outcome, ModelReload::Outcome::kSame);

  file = constant_file("25");
  const auto bad = reload.offer(settings, read);
  EXPECT_EQ(bad.outcome, ModelReload::Outcome::kRefused);
  EXPECT_EQ(bad.set, nullptr);
  EXPECT_EQ(reload.refusal(), "ctr.json: value: must be 0 to 1");
  file = std::nullopt;
  EXPECT_EQ(reload.offer(settings, read).error.what, "ctr.json: cannot be read");
  EXPECT_EQ(reload.counts().refused[static_cast<size_t>(ModelErrc::kBadValue)], 1U);
  EXPECT_EQ(reload.counts().refused[static_cast<size_t>(ModelErrc::kMissing)], 1U);

  // The set that was handed out still serves, and a good file replaces it.
  ScoreBatch batch(1);
  add(batch, 0, 0);
  first.set->of(Arm::kControl).score(batch);
  EXPECT_EQ(batch.probability(0), 0.25);
  file = constant_file("0.5");
  EXPECT_EQ(reload.offer(settings, read).outcome, ModelReload::Outcome::kTaken);
  EXPECT_TRUE(reload.refusal().empty());
  EXPECT_EQ(reload.counts().taken, 2U);
}

TEST(ScoringSettings, EachBadValueIsNamed) {
  ScoringSettings settings;
  settings.control.keep = 0;
  settings.test.click.then = "second";
  settings.test_ratio = std::numeric_limits<double>::quiet_NaN();
  settings.click_ratio = 2;
  settings.action_ratio = -1;
  EXPECT_EQ(validate(settings).size(), 5U);
  EXPECT_TRUE(validate(ScoringSettings{}).empty());
  settings.control.click = {.first = "a", .then = "b"};
  settings.control.action.first = "a";
  settings.test.click = {};
  EXPECT_EQ(model_files(settings), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace spillway::bidder
