#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "bidder/model.h"
#include "bidder/pacing/grant.h"

namespace spillway::bidder {

/// How much of a day's budget may be spent by when: from 0 at midnight to 1 at the next, straight
/// within each hour of the advertiser's wall. Immutable.
class DayCurve {
 public:
  /// A 24th in every hour.
  [[nodiscard]] static DayCurve even();

  /// 1.5 times that rate at midnight, falling straight to half of it.
  [[nodiscard]] static DayCurve front_loaded();

  /// By the share of traffic in each hour. Requires finite weights, none below 0, one above.
  [[nodiscard]] static DayCurve of_weights(std::span<const double, 24> weights);

  /// `day_ratio` in [0, 1]; what lies outside is taken as the nearer end.
  [[nodiscard]] double spent_by(double day_ratio) const;

 private:
  std::array<double, 25> upto_{};
};

enum class PaceVerdict : uint8_t {
  kBid,
  kThrottled,  ///< Left out, so that the budget lasts.
  kAhead,      ///< Spend is ahead of the curve by more than the lead.
  kExhausted,
  kUnknownCampaign,
};

inline constexpr size_t kPaceVerdicts = 5;

[[nodiscard]] std::string_view to_string(PaceVerdict verdict);

struct PacerSettings {
  base::Duration period = std::chrono::seconds(1);  ///< Between corrections; 100 ms to 1 min.
  base::Duration memory = std::chrono::minutes(1);  ///< Spend is smoothed over it; 1 s to 1 h.
  double lead_ratio = 0.01;    ///< Of a day's budget, spend may be ahead of its curve; (0, 1].
  double step_ratio = 0.25;    ///< A share changes by at most so much of itself; (0, 1].
  double least_share = 0.001;  ///< No share is lower; (0, 1].
  std::array<double, 24> traffic{};  ///< Weights of the hours for even pacing; all 0: equal.
};

[[nodiscard]] std::vector<std::string> validate(const PacerSettings& settings);

struct PacedCampaign {
  int64_t campaign = 0;
  Pacing pacing = Pacing::kEven;
  /// Its flight begins at this second of the advertiser's wall; kNoBegin: it has long begun.
  int64_t begin_local_s = kNoBegin;
  int64_t end_local_s = kNoEnd;  ///< And ends before this; kNoEnd: never.

  static constexpr int64_t kNoBegin = INT64_MIN;
  static constexpr int64_t kNoEnd = INT64_MAX;
};

/// What a Pacer knows of the campaigns of one catalog. Made off the request path (about 10 ms for
/// 100,000) and handed to one pacer; freed where the last holder says. Memory: 130 bytes a
/// campaign.
class PacerTable {
 public:
  /// Ids are positive, each once.
  explicit PacerTable(std::span<const PacedCampaign> campaigns);

  [[nodiscard]] size_t size() const { return states_.size(); }

 private:
  friend class Pacer;

  /// What every chance asks for comes first, in one cache line.
  struct alignas(64) State {
    int64_t campaign = 0;
    base::Instant corrected = base::Instant::min();  ///< The least: never.
    int64_t day = INT64_MIN;
    double share = kFirstShare;
    PaceVerdict stop = PaceVerdict::kBid;
    Pacing pacing = Pacing::kEven;
    bool inherited = false;  ///< What an earlier table knew has been taken over.
    double day_ratio = 0;    ///< Of that day, the latest seen.
    double spent_nanos = 0;
    double recent_share = kFirstShare;   ///< Smoothed.
    double recent_rate_nanos_per_s = 0;  ///< Spend, smoothed alike.
    int64_t begin_local_s = PacedCampaign::kNoBegin;
    int64_t end_local_s = PacedCampaign::kNoEnd;
  };

  static constexpr double kFirstShare = 0.05;

  [[nodiscard]] State* find(int64_t campaign);

  std::vector<State> states_;
  std::vector<uint32_t> places_;  ///< By hash, open: 1 + index into states_; 0: free.
};

/// A rate controller for each campaign: the share of its chances that it takes, corrected every
/// period so that what is left of the day's budget lasts for what is left of the curve:
///
///     share = wanted spend per second ÷ (recent spend per second ÷ recent share)
///
/// A day's budget is the daily one, and no more than the day's part of what is left of a lifetime
/// budget: it is spread over what is left of the flight, a day of it by its curve. On a flight's
/// first and last day the curve begins and ends with it. A lifetime budget without an end is not
/// spread.
///
/// It looks at money that was really spent (a Grant's balance), so chances, wins and prices need no
/// model; and it stops, whatever the share, while spend is ahead of the curve by the lead. A
/// campaign that begins late in the day has the rest of the curve; one without any budget is not
/// held back.
///
/// One worker owns it: every worker runs the same law on the same balance, so none waits for
/// another. Cost of admit(): one hash look-up, and once a period the grant's balance.
/// Source: Agarwal, Ghosh, Wei and You, "Budget Pacing for Targeted Online Advertisements at
/// LinkedIn", KDD 2014.
class Pacer {
 public:
  explicit Pacer(const PacerSettings& settings);

  /// Takes the campaigns of a new catalog; those that stay keep their state, which is taken over
  /// when they are next met, or by carry_over(). No allocation; O(1) once the last carry_over() has
  /// said that it is done, else what was left of it.
  void take(std::shared_ptr<PacerTable> table);

  /// Takes over at most `most` states of the table before. True: all are, and that table is let go.
  bool carry_over(size_t most);

  /// The two at once, for those who can wait.
  void refresh(std::span<const PacedCampaign> campaigns);

  /// Whether `campaign` bids on this chance. `draw` decides by the share: a hash of the request and
  /// the campaign, so that a replay decides alike. Does not reserve. No allocation.
  [[nodiscard]] PaceVerdict admit(int64_t campaign, const Grant& grant, const BudgetTime& at,
                                  uint64_t draw);

  /// The share of chances taken now, in [0, 1]; 0 for an unknown campaign.
  [[nodiscard]] double share(int64_t campaign) const;

 private:
  using State = PacerTable::State;

  void inherit(State& state) const;
  void correct(State& state, const Balance& balance, const BudgetTime& at) const;
  [[nodiscard]] double next_share(const State& state, double wanted_nanos_per_s) const;

  PacerSettings settings_;
  DayCurve even_;
  DayCurve front_loaded_;
  std::shared_ptr<PacerTable> table_;
  std::shared_ptr<PacerTable> before_;  ///< Null: nothing is left in it.
  size_t carried_ = 0;                  ///< So many of table_ have been looked at.
};

}  // namespace spillway::bidder
