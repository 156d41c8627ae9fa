#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace spillway::exchange {

/// What is wrong with a DSP whose calls all succeed. Nothing a breaker should open for: a person
/// should know.
enum class BidAlert : uint8_t {
  kUselessBids,      ///< Most of its answers with bids hold none that may win.
  kBidRateCollapse,  ///< It bids on far less of what it is asked than it usually does.
};

inline constexpr size_t kBidAlerts = 2;

/// "useless_bids", "bid_rate_collapse": as in logs and metric labels.
[[nodiscard]] std::string_view to_string(BidAlert alert);

/// Sums since the start of one (DSP, region, path). Never fall.
struct BidCounts {
  uint64_t answers = 0;  ///< Whole, readable answers in time, no-bids among them.
  uint64_t bidding = 0;  ///< Of these with at least one bid.
  uint64_t useless = 0;  ///< Of those with no valid bid.
};

/// An alert raised or cleared, with the numbers that did it.
struct BidAlertChange {
  BidAlert alert = BidAlert::kUselessBids;
  bool raised = false;     ///< False: cleared.
  uint64_t count = 0;      ///< Useless answers, or bidding ones.
  uint64_t of = 0;         ///< Bidding answers, or all.
  double usual_ratio = 0;  ///< Of bid_rate_collapse: the share it usually bids on.
};

/// Watches how useful the answers of one DSP are, where a breaker sees only that they came.
///
/// A window ends when it can tell something, however long that takes at a low rate: after 20
/// bidding answers for uselessness, after as many answers as usually hold 40 bids for the bid rate,
/// and not within 2 s; after 10 min it is forgotten. `useless_bids` is raised when at least half of
/// the bidding answers are useless for sure (Wilson, z = 3), cleared at a quarter or less.
/// `bid_rate_collapse` is raised when the bid rate is under a quarter of the usual one for sure,
/// cleared at half of it or more. The usual rate has a memory of 10 min of windows without
/// the alert, and is known from 200 answers on; a DSP that never bid has none to fall from.
///
/// One thread. Memory: fixed, under 200 bytes. Source: DESIGN 3 (useless ratio, dead but fast).
class BidWatch {
 public:
  /// Takes in the sums as they are at `now`; call it once a second or so. Appends what changed.
  void tick(base::Instant now, const BidCounts& sums, std::vector<BidAlertChange>& out);

  [[nodiscard]] bool raised(BidAlert alert) const { return raised_[static_cast<size_t>(alert)]; }

  /// How often since the start.
  [[nodiscard]] uint64_t times_raised(BidAlert alert) const {
    return times_raised_[static_cast<size_t>(alert)];
  }

  /// Share of the last finished windows, [0, 1].
  [[nodiscard]] double useless_ratio() const { return useless_ratio_; }

  [[nodiscard]] double bid_ratio() const { return bid_ratio_; }

 private:
  struct Window {
    base::Instant begin{};
    BidCounts at_begin;
  };

  void judge_useless(base::Instant now, const BidCounts& sums, std::vector<BidAlertChange>& out);
  void judge_bid_rate(base::Instant now, const BidCounts& sums, std::vector<BidAlertChange>& out);
  void learn(base::Duration spent, const BidCounts& window);
  void change(const BidAlertChange& change, std::vector<BidAlertChange>& out);

  bool started_ = false;
  Window useless_;
  Window bid_rate_;
  double usual_answers_ = 0;  ///< Decayed sums of windows without the alert.
  double usual_bidding_ = 0;
  double useless_ratio_ = 0;
  double bid_ratio_ = 0;
  std::array<bool, kBidAlerts> raised_{};
  std::array<uint64_t, kBidAlerts> times_raised_{};
};

}  // namespace spillway::exchange
