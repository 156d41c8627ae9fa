#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/scoring/document.h"
#include "bidder/scoring/trained_model_test.h"
#include "bidder/scoring/tree_model.h"
#include "bidder/scoring/xgboost_model.h"

namespace spillway::bidder {
namespace {

constexpr size_t kColumns = 13;

std::vector<float> answers_of(const TreeModel& model, const TrainedRows& data) {
  std::vector<const float*> rows;
  rows.reserve(data.count());
  for (size_t i = 0; i < data.count(); ++i) {
    rows.push_back(data.values.data() + i * data.columns);
  }
  std::vector<float> out(rows.size());
  model.predict(rows, out);
  return out;
}

void expect_parity(std::string_view objective, std::string_view format, double missing_ratio) {
  const TrainedModel trained(TrainedModel::Shape{.objective = std::string(objective),
                                                 .columns = kColumns,
                                                 .rounds = 30,
                                                 .depth = 6,
                                                 .missing_ratio = missing_ratio,
                                                 .rows = 1'500});
  const auto document = read_document(trained.save(format));
  ASSERT_TRUE(document) << document.error().what;
  const auto read = read_xgboost(*document, "");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->trees.trees(), 30U);
  const TrainedRows rows = random_rows(10'000, kColumns, missing_ratio, 7);
  const std::vector<float> expected = trained.predict(rows);
  const std::vector<float> answers = answers_of(read->trees, rows);
  for (size_t i = 0; i < expected.size(); ++i) {
    const double scale = std::max(1.0, std::abs(static_cast<double>(expected[i])));
    ASSERT_NEAR(answers[i], expected[i], 1e-6 * scale) << objective << " row " << i;
  }
}

TEST(TreeParity, AnswersAreLibxgboostsToAMillionthOnTenThousandRows) {
  expect_parity("binary:logistic", "json", 0);
}

TEST(TreeParity, MissingValuesGoWhereLibxgboostSendsThem) {
  expect_parity("binary:logistic", "ubj", 0.3);
}

TEST(TreeParity, RowsOfNothingButMissingValuesHaveAnAnswer) {
  expect_parity("binary:logistic", "json", 1);
}

TEST(TreeParity, EveryObjectiveThatIsServedAnswersAsLibxgboost) {
  for (const auto* objective :
       {"binary:logitraw", "reg:logistic", "reg:squarederror", "reg:squaredlogerror",
        "reg:pseudohubererror", "reg:absoluteerror", "count:poisson", "reg:gamma", "reg:tweedie"}) {
    expect_parity(objective, "json", 0.1);
  }
}

TEST(TreeParity, JsonAndUbjsonOfOneModelAnswerAlike) {
  const TrainedModel trained({.objective = "binary:logistic",
                              .columns = kColumns,
                              .rounds = 20,
                              .depth = 5,
                              .missing_ratio = 0.2});
  const auto json = read_document(trained.save("json"));
  const auto ubj = read_document(trained.save("ubj"));
  ASSERT_TRUE(json && ubj);
  const auto from_json = read_xgboost(*json, "");
  const auto from_ubj = read_xgboost(*ubj, "");
  ASSERT_TRUE(from_json && from_ubj);
  const TrainedRows rows = random_rows(2'000, kColumns, 0.2, 3);
  EXPECT_EQ(answers_of(from_json->trees, rows), answers_of(from_ubj->trees, rows));
}

TEST(TreeParity, PrunedAndLopsidedTreesAreReadAsLibxgboostReadsThem) {
  const TrainedModel trained({.objective = "binary:logistic",
                              .columns = kColumns,
                              .rounds = 40,
                              .depth = 9,
                              .missing_ratio = 0.1,
                              .gamma = 0.4});
  const auto document = read_document(trained.save("json"));
  ASSERT_TRUE(document);
  const auto read = read_xgboost(*document, "");
  ASSERT_TRUE(read) << read.error().what;
  const TrainedRows rows = random_rows(5'000, kColumns, 0.1, 11);
  const auto expected = trained.predict(rows);
  const auto answers = answers_of(read->trees, rows);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(answers[i], expected[i], 1e-6);
  }
}

TEST(TreeParity, ABatchOfAnySizeAnswersRowByRow) {
  const TrainedModel trained({.objective = "binary:logistic",
                              .columns = kColumns,
                              .rounds = 10,
                              .depth = 4,
                              .missing_ratio = 0.2});
  const auto document = read_document(trained.save("ubj"));
  ASSERT_TRUE(document);
  const auto read = read_xgboost(*document, "");
  ASSERT_TRUE(read);
  const TrainedRows all = random_rows(41, kColumns, 0.2, 5);
  const auto together = answers_of(read->trees, all);
  for (size_t count = 0; count <= all.count(); ++count) {
    TrainedRows some = all;
    some.values.resize(count * kColumns);
    const auto answers = answers_of(read->trees, some);
    EXPECT_TRUE(std::ranges::equal(answers, std::span(together).first(count)));
  }
}

}  // namespace
}  // namespace spillway::bidder
