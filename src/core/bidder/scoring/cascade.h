#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/money.h"
#include "bidder/model.h"
#include "bidder/scoring/features.h"
#include "bidder/scoring/model.h"

namespace spillway::bidder {

/// The candidates of one imp or request, to be scored together, and their scores. Its memory is
/// made once. One thread owns it.
class ScoreBatch {
 public:
  /// Room for `most` candidates.
  explicit ScoreBatch(size_t most);

  void clear() {
    size_ = 0;
    of_goal_ = {};
  }

  /// A candidate's row, all NaN, for the caller to fill; nullptr when the batch is full. `reached`
  /// is what a thousand impressions are worth if each reaches the goal (expected_value() at
  /// probability 1), of all candidates in one currency: stages rank by what a candidate is worth,
  /// not by its probability alone.
  FeatureRow* add(Goal goal, base::Cpm reached);

  /// The same where no model of the goal reads rows; false when the batch is full.
  bool add_without_row(Goal goal, base::Cpm reached);

  [[nodiscard]] size_t size() const { return size_; }

  [[nodiscard]] size_t capacity() const { return rows_.size(); }

  /// Of candidate `index` (in the order of add()), after Cascade::score(): how likely its goal is,
  /// by the last stage of its goal. nullopt: the first stage left it out; it must not bid.
  [[nodiscard]] std::optional<double> probability(size_t index) const {
    return kept_[index] ? std::optional<double>(scores_[index]) : std::nullopt;
  }

 private:
  friend class Cascade;

  size_t size_ = 0;
  std::array<uint32_t, 3> of_goal_{};  ///< Candidates by Goal.
  std::vector<FeatureRow> rows_;
  std::vector<Goal> goals_;
  std::vector<base::Cpm> reached_;
  std::vector<float> scores_;
  std::vector<uint8_t> kept_;
  std::vector<uint32_t> picked_;  ///< Candidates of one call of a model.
  std::vector<const float*> picked_rows_;
  std::vector<float> picked_scores_;
  std::vector<uint32_t> order_;
};

/// The models of one goal. A CPM goal is reached by every impression and needs none.
struct GoalModels {
  Model first;
  std::optional<Model> then;  ///< Scores anew what the first left in.
};

/// Scores a batch in one stage or two. With a second stage a cheap model ranks all candidates by
/// worth, the best `keep` survive, and the second model scores those anew; the others are out, and
/// have no score at all. So a score of one stage is never compared with one of the other: a
/// candidate has the score of its goal's last stage, or none.
///
/// Immutable, shared by all threads.
class Cascade {
 public:
  Cascade() = default;
  Cascade(GoalModels click, GoalModels action, uint32_t keep);

  /// Scores every candidate of `batch`. Ties keep the order of add(). Does not allocate.
  void score(ScoreBatch& batch) const;

  /// The same without the second stage, for requests with no time for it: every candidate has its
  /// first score, none is out.
  void score_first_only(ScoreBatch& batch) const;

  /// Whether a model of this goal looks at rows.
  [[nodiscard]] bool reads_rows(Goal goal) const { return reads_rows_[static_cast<size_t>(goal)]; }

  [[nodiscard]] bool two_stages() const { return click_.then || action_.then; }

 private:
  void predict(const Model& model, Goal goal, ScoreBatch& batch) const;
  void keep_best(ScoreBatch& batch) const;

  GoalModels click_;
  GoalModels action_;
  uint32_t keep_ = 0;
  std::array<bool, 3> reads_rows_{};  ///< By Goal.
};

}  // namespace spillway::bidder
