#include "bidder/pacing/pacer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/hash.h"
#include "base/time.h"
#include "bidder/model.h"
#include "bidder/pacing/grant.h"

namespace spillway::bidder {

namespace {

constexpr double kDaySeconds = 86'400;

// How far ahead the slope of the curve is taken.
constexpr double kHorizonRatio = 1.0 / 96;

double to_s(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// A day of a flight: all of it, or from its begin, or up to its end.
class Flight {
 public:
  /// `begin_local_s` and `end_local_s`: see PacedCampaign.
  Flight(const DayCurve& curve, int64_t begin_local_s, int64_t end_local_s, int64_t day)
      : curve_(curve) {
    const BudgetTime begin{.now = {}, .local_s = begin_local_s};
    if (begin_local_s != PacedCampaign::kNoBegin && begin.day() == day) {
      before_ = curve.spent_by(begin.day_ratio());
    }
    if (end_local_s != PacedCampaign::kNoEnd) {
      const BudgetTime end{.now = {}, .local_s = end_local_s};
      if (end.day() <= day) {
        last_ratio_ = end.day() < day ? 0 : end.day_ratio();
      } else {
        later_ = static_cast<double>(end.day() - day - 1) + curve.spent_by(end.day_ratio());
      }
    }
    whole_ = std::max(curve.spent_by(last_ratio_) - before_, 0.0);
  }

  /// Where in the day it ends, in [0, 1].
  [[nodiscard]] double last_ratio() const { return last_ratio_; }

  /// How much of the day's part may be spent by then, in [0, 1].
  [[nodiscard]] double over(double day_ratio) const {
    return whole_ > 0 ? std::clamp((curve_.spent_by(day_ratio) - before_) / whole_, 0.0, 1.0) : 1.0;
  }

  /// What the day may come to: its budget, and no more than its part of what was left of the
  /// lifetime budget when it began.
  [[nodiscard]] double budget_of_day(const Balance& balance) const {
    const auto budget = static_cast<double>(balance.budget.nanos);
    if (balance.lifetime_left.nanos == INT64_MAX || later_ <= 0) {
      return budget;
    }
    const double left = static_cast<double>(balance.spent.nanos) +
                        static_cast<double>(balance.open.nanos) +
                        static_cast<double>(balance.lifetime_left.nanos);
    return std::min(budget, left * whole_ / (whole_ + later_));
  }

 private:
  const DayCurve& curve_;
  double last_ratio_ = 1;
  double before_ = 0;  ///< The curve's share of the day before its begin,
  double whole_ = 1;   ///< from there to its end,
  double later_ = 0;   ///< and of the days after it, in days; 0 without an end.
};

bool has_weights(const std::array<double, 24>& traffic) {
  return std::ranges::any_of(traffic, [](double weight) { return weight > 0; });
}

}  // namespace

std::string_view to_string(PaceVerdict verdict) {
  constexpr std::array<std::string_view, kPaceVerdicts> kNames{"bid", "throttled", "ahead",
                                                               "exhausted", "unknown_campaign"};
  return kNames[static_cast<size_t>(verdict)];
}

DayCurve DayCurve::even() {
  std::array<double, 24> weights{};
  weights.fill(1);
  return of_weights(weights);
}

DayCurve DayCurve::front_loaded() {
  DayCurve curve;
  for (size_t hour = 0; hour < curve.upto_.size(); ++hour) {
    const double x = static_cast<double>(hour) / 24;
    curve.upto_[hour] = 1.5 * x - 0.5 * x * x;
  }
  return curve;
}

DayCurve DayCurve::of_weights(std::span<const double, 24> weights) {
  DayCurve curve;
  for (size_t hour = 0; hour < weights.size(); ++hour) {
    SPILLWAY_ASSERT(std::isfinite(weights[hour]) && weights[hour] >= 0);
    curve.upto_[hour + 1] = curve.upto_[hour] + weights[hour];
  }
  const double total = curve.upto_.back();
  SPILLWAY_ASSERT(total > 0);
  for (double& upto : curve.upto_) {
    upto /= total;
  }
  return curve;
}

double DayCurve::spent_by(double day_ratio) const {
  const double hours = std::clamp(day_ratio, 0.0, 1.0) * 24;
  const auto hour = std::min<size_t>(static_cast<size_t>(hours), 23);
  const double within = hours - static_cast<double>(hour);
  return upto_[hour] + within * (upto_[hour + 1] - upto_[hour]);
}

std::vector<std::string> validate(const PacerSettings& settings) {
  std::vector<std::string> out;
  if (settings.period < std::chrono::milliseconds(100) ||
      settings.period > std::chrono::minutes(1)) {
    out.emplace_back("pacing.period: must be 100 ms to 1 min");
  }
  if (settings.memory < std::chrono::seconds(1) || settings.memory > std::chrono::hours(1)) {
    out.emplace_back("pacing.memory: must be 1 s to 1 h");
  }
  const auto check_ratio = [&out](const char* key, double ratio) {
    if (!(ratio > 0 && ratio <= 1)) {
      out.push_back(std::string("pacing.") + key + ": must be above 0, at most 1");
    }
  };
  check_ratio("lead_ratio", settings.lead_ratio);
  check_ratio("step_ratio", settings.step_ratio);
  check_ratio("least_share", settings.least_share);
  if (!std::ranges::all_of(settings.traffic, [](double w) { return w >= 0 && w <= 1e9; })) {
    out.emplace_back("pacing.traffic: each weight must be 0 to 1e9");
  }
  return out;
}

PacerTable::PacerTable(std::span<const PacedCampaign> campaigns)
    : states_(campaigns.size()), places_(std::bit_ceil(2 * campaigns.size() + 1)) {
  const size_t mask = places_.size() - 1;
  for (uint32_t i = 0; i < campaigns.size(); ++i) {
    const PacedCampaign& of = campaigns[i];
    states_[i].campaign = of.campaign;
    states_[i].pacing = of.pacing;
    states_[i].begin_local_s = of.begin_local_s;
    states_[i].end_local_s = of.end_local_s;
    size_t at = base::mix64(static_cast<uint64_t>(campaigns[i].campaign)) & mask;
    while (places_[at] != 0) {
      at = (at + 1) & mask;
    }
    places_[at] = i + 1;
  }
}

PacerTable::State* PacerTable::find(int64_t campaign) {
  const size_t mask = places_.size() - 1;
  for (size_t at = base::mix64(static_cast<uint64_t>(campaign)) & mask; places_[at] != 0;
       at = (at + 1) & mask) {
    State& state = states_[places_[at] - 1];
    if (state.campaign == campaign) {
      return &state;
    }
  }
  return nullptr;
}

Pacer::Pacer(const PacerSettings& settings)
    : settings_(settings),
      even_(has_weights(settings.traffic) ? DayCurve::of_weights(settings.traffic)
                                          : DayCurve::even()),
      front_loaded_(DayCurve::front_loaded()),
      table_(std::make_shared<PacerTable>(std::span<const PacedCampaign>())) {}

void Pacer::take(std::shared_ptr<PacerTable> table) {
  (void)carry_over(SIZE_MAX);
  before_ = std::exchange(table_, std::move(table));
  carried_ = 0;
}

bool Pacer::carry_over(size_t most) {
  if (before_ == nullptr) {
    return true;
  }
  const size_t end = carried_ + std::min(most, table_->size() - carried_);
  for (; carried_ < end; ++carried_) {
    inherit(table_->states_[carried_]);
  }
  if (carried_ < table_->size()) {
    return false;
  }
  before_.reset();
  return true;
}

void Pacer::inherit(State& state) const {
  if (state.inherited || before_ == nullptr) {
    return;
  }
  if (const State* const known = before_->find(state.campaign)) {
    const State fresh = state;
    state = *known;
    state.pacing = fresh.pacing;
    state.begin_local_s = fresh.begin_local_s;
    state.end_local_s = fresh.end_local_s;
  }
  state.inherited = true;
}

void Pacer::refresh(std::span<const PacedCampaign> campaigns) {
  take(std::make_shared<PacerTable>(campaigns));
  (void)carry_over(SIZE_MAX);
}

PaceVerdict Pacer::admit(int64_t campaign, const Grant& grant, const BudgetTime& at,
                         uint64_t draw) {
  State* const found = table_->find(campaign);
  if (found == nullptr) {
    return PaceVerdict::kUnknownCampaign;
  }
  State& state = *found;
  inherit(state);
  if (state.corrected == base::Instant::min() || at.day() != state.day ||
      at.now - state.corrected >= settings_.period) {
    correct(state, grant.balance(campaign, at), at);
  }
  if (state.stop != PaceVerdict::kBid) {
    return state.stop;
  }
  return base::unit(base::mix64(draw)) < state.share ? PaceVerdict::kBid : PaceVerdict::kThrottled;
}

double Pacer::next_share(const State& state, double wanted_nanos_per_s) const {
  const double highest = state.share * (1 + settings_.step_ratio);
  const double lowest = state.share * (1 - settings_.step_ratio);
  // Nothing was spent yet, or not for long: carefully more.
  const double share = state.recent_rate_nanos_per_s > 0
                           ? wanted_nanos_per_s * state.recent_share / state.recent_rate_nanos_per_s
                           : highest;
  return std::clamp(std::clamp(share, lowest, highest), settings_.least_share, 1.0);
}

void Pacer::correct(State& state, const Balance& balance, const BudgetTime& at) const {
  const auto spent = static_cast<double>(balance.spent.nanos);
  const bool same_day = at.day() == state.day;
  const bool first = state.corrected == base::Instant::min();
  const double seconds = first ? 0 : std::max(to_s(at.now - state.corrected), 0.0);
  if (seconds > 0) {
    const double kept = std::exp(-seconds / to_s(settings_.memory));
    const double more = same_day ? std::max(spent - state.spent_nanos, 0.0) : spent;
    state.recent_rate_nanos_per_s =
        kept * state.recent_rate_nanos_per_s + (1 - kept) * more / seconds;
    state.recent_share = kept * state.recent_share + (1 - kept) * state.share;
  }
  // An hour that the wall repeats was spent already.
  state.day_ratio = same_day ? std::max(state.day_ratio, at.day_ratio()) : at.day_ratio();
  state.day = at.day();
  state.corrected = at.now;
  state.spent_nanos = spent;
  state.stop = balance.available.nanos > 0 ? PaceVerdict::kBid : PaceVerdict::kExhausted;
  const bool unlimited = balance.budget.nanos == INT64_MAX;
  if (state.pacing == Pacing::kAsap || unlimited) {
    state.share = 1;
    return;
  }
  const DayCurve& curve = state.pacing == Pacing::kFrontLoaded ? front_loaded_ : even_;
  const Flight flight(curve, state.begin_local_s, state.end_local_s, at.day());
  const double over = flight.over(state.day_ratio);
  const double budget = flight.budget_of_day(balance);
  if (state.stop == PaceVerdict::kBid && spent > budget * (over + settings_.lead_ratio)) {
    state.stop = PaceVerdict::kAhead;
  }
  const double horizon = std::min(kHorizonRatio, flight.last_ratio() - state.day_ratio);
  const double ahead = flight.over(state.day_ratio + horizon) - over;
  const double left = over < 1 && horizon > 0 ? ahead / (1 - over) : 0;
  const double wanted = left > 0 ? (budget - spent) * left / (horizon * kDaySeconds) : 0;
  // A clock that stands still or jumps must not change a share.
  if (seconds > 0) {
    state.share = next_share(state, std::max(wanted, 0.0));
  }
}

double Pacer::share(int64_t campaign) const {
  State* const found = table_->find(campaign);
  if (found == nullptr) {
    return 0;
  }
  inherit(*found);
  return found->share;
}

}  // namespace spillway::bidder
