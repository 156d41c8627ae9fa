#include "bidder/pacing/pacer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
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

Pacer::Pacer(const PacerSettings& settings)
    : settings_(settings),
      even_(has_weights(settings.traffic) ? DayCurve::of_weights(settings.traffic)
                                          : DayCurve::even()),
      front_loaded_(DayCurve::front_loaded()) {}

void Pacer::refresh(std::span<const PacedCampaign> campaigns) {
  std::vector<State> next;
  next.reserve(campaigns.size());
  for (const PacedCampaign& campaign : campaigns) {
    const auto known = place_of(campaign.campaign);
    State& state = next.emplace_back(known ? states_[*known] : State{});
    state.campaign = campaign.campaign;
    state.pacing = campaign.pacing;
  }
  states_ = std::move(next);
  slots_.assign(std::bit_ceil(2 * states_.size() + 1), 0);
  for (size_t i = 0; i < states_.size(); ++i) {
    // Of one that is named twice the last counts.
    slots_[slot_of(states_[i].campaign)] = static_cast<uint32_t>(i + 1);
  }
}

/// Where a campaign's slot is, or the free one where it would be.
size_t Pacer::slot_of(int64_t campaign) const {
  const size_t mask = slots_.size() - 1;
  size_t at = base::mix64(static_cast<uint64_t>(campaign)) & mask;
  while (slots_[at] != 0 && states_[slots_[at] - 1].campaign != campaign) {
    at = (at + 1) & mask;
  }
  return at;
}

std::optional<size_t> Pacer::place_of(int64_t campaign) const {
  const uint32_t slot = slots_.empty() ? 0 : slots_[slot_of(campaign)];
  return slot == 0 ? std::nullopt : std::optional<size_t>(slot - 1);
}

PaceVerdict Pacer::admit(int64_t campaign, const Grant& grant, const BudgetTime& at,
                         uint64_t draw) {
  const auto place = place_of(campaign);
  if (!place) {
    return PaceVerdict::kUnknownCampaign;
  }
  State& state = states_[*place];
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
  const auto budget = static_cast<double>(balance.budget.nanos);
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
  const double over = curve.spent_by(state.day_ratio);
  if (state.stop == PaceVerdict::kBid && spent > budget * (over + settings_.lead_ratio)) {
    state.stop = PaceVerdict::kAhead;
  }
  const double horizon = std::min(kHorizonRatio, 1 - state.day_ratio);
  const double ahead = curve.spent_by(state.day_ratio + horizon) - over;
  const double left = over < 1 ? ahead / (1 - over) : 0;
  const double wanted = (budget - spent) * left / (horizon * kDaySeconds);
  // A clock that stands still or jumps must not change a share.
  if (seconds > 0) {
    state.share = next_share(state, std::max(wanted, 0.0));
  }
}

double Pacer::share(int64_t campaign) const {
  const auto place = place_of(campaign);
  return place ? states_[*place].share : 0;
}

}  // namespace spillway::bidder
