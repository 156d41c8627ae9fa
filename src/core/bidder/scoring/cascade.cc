#include "bidder/scoring/cascade.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <variant>

#include "base/money.h"
#include "bidder/model.h"
#include "bidder/scoring/features.h"
#include "bidder/scoring/model.h"

namespace spillway::bidder {

ScoreBatch::ScoreBatch(size_t most)
    : rows_(most),
      goals_(most),
      reached_(most),
      scores_(most),
      kept_(most),
      picked_(most),
      picked_rows_(most),
      picked_scores_(most),
      order_(most) {}

FeatureRow* ScoreBatch::add(Goal goal, base::Cpm reached) {
  if (!add_without_row(goal, reached)) {
    return nullptr;
  }
  FeatureRow& row = rows_[size_ - 1];
  row.fill(std::numeric_limits<float>::quiet_NaN());
  return &row;
}

bool ScoreBatch::add_without_row(Goal goal, base::Cpm reached) {
  if (size_ == rows_.size()) {
    return false;
  }
  goals_[size_] = goal;
  reached_[size_] = reached;
  ++of_goal_[static_cast<size_t>(goal)];
  ++size_;
  return true;
}

namespace {

bool reads(const Model& model) { return !std::holds_alternative<ConstantModel>(model.any()); }

bool reads(const GoalModels& models) {
  return reads(models.first) || (models.then && reads(*models.then));
}

}  // namespace

Cascade::Cascade(GoalModels click, GoalModels action, uint32_t keep)
    : click_(std::move(click)), action_(std::move(action)), keep_(keep) {
  reads_rows_[static_cast<size_t>(Goal::kCpc)] = reads(click_);
  reads_rows_[static_cast<size_t>(Goal::kCpa)] = reads(action_);
}

void Cascade::predict(const Model& model, Goal goal, ScoreBatch& batch) const {
  if (batch.of_goal_[static_cast<size_t>(goal)] == 0) {
    return;
  }
  size_t picked = 0;
  for (uint32_t i = 0; i < batch.size_; ++i) {
    if (batch.goals_[i] == goal && batch.kept_[i] != 0) {
      batch.picked_[picked] = i;
      batch.picked_rows_[picked++] = batch.rows_[i].data();
    }
  }
  model.predict(std::span(batch.picked_rows_).first(picked),
                std::span(batch.picked_scores_).first(picked));
  for (size_t i = 0; i < picked; ++i) {
    batch.scores_[batch.picked_[i]] = batch.picked_scores_[i];
  }
}

void Cascade::score_first_only(ScoreBatch& batch) const {
  std::fill_n(batch.kept_.begin(), batch.size_, uint8_t{1});
  std::fill_n(batch.scores_.begin(), batch.size_, 1.0F);
  predict(click_.first, Goal::kCpc, batch);
  predict(action_.first, Goal::kCpa, batch);
}

void Cascade::keep_best(ScoreBatch& batch) const {
  if (batch.size_ <= keep_) {
    return;
  }
  const auto worth = [&batch](uint32_t i) {
    return static_cast<double>(batch.scores_[i]) * static_cast<double>(batch.reached_[i].micros);
  };
  const auto order = std::span(batch.order_).first(batch.size_);
  for (uint32_t i = 0; i < batch.size_; ++i) {
    order[i] = i;
  }
  const auto cut = order.begin() + keep_;
  std::ranges::nth_element(order, cut, [&worth](uint32_t a, uint32_t b) {
    const double worth_a = worth(a);
    const double worth_b = worth(b);
    return worth_a > worth_b || (worth_a == worth_b && a < b);
  });
  std::for_each(cut, order.end(), [&batch](uint32_t i) { batch.kept_[i] = 0; });
}

void Cascade::score(ScoreBatch& batch) const {
  score_first_only(batch);
  if (!two_stages()) {
    return;
  }
  keep_best(batch);
  if (click_.then) {
    predict(*click_.then, Goal::kCpc, batch);
  }
  if (action_.then) {
    predict(*action_.then, Goal::kCpa, batch);
  }
}

}  // namespace spillway::bidder
