#include "bidder_w1/whole_bidder.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "bidder/cap_limits.h"
#include "bidder/catalog.h"
#include "bidder/notice.h"
#include "bidder/pacing/grant.h"
#include "bidder/pipeline.h"
#include "bidder/pricing.h"
#include "bidder/scoring/model_set.h"

namespace spillway::bench {

using bidder::NoticeKind;
using bidder::Pipeline;

WholeBidder::WholeBidder(const bidder::CatalogRows& rows, std::vector<bidder::TimeZone> zones,
                         int64_t unix_s)
    : catalog_(rows, std::move(zones), 1),
      models_(*bidder::ModelSet::build({}, [](const std::string&) { return std::nullopt; })),
      signer_("https://b.example", {{"x", {{"k", std::string(32, 's')}}}}),
      unix_s_(unix_s) {
  std::vector<bidder::CampaignBudget> budgets;
  std::vector<bidder::PacedCampaign> paced;
  for (const auto& campaign : catalog_.campaigns()) {
    terms_.push_back(bidder::terms_of(campaign));
    budgets.push_back({.campaign = campaign.id,
                       .daily = base::money_of_micros(campaign.daily_micros),
                       .lifetime = base::money_of_micros(campaign.lifetime_micros)});
    paced.push_back({.campaign = campaign.id, .pacing = campaign.pacing});
  }
  (void)grant_.refresh(budgets, unix_s);
  pacer_.refresh(paced);
}

size_t WholeBidder::ask(std::string_view padded, const bidder::caps::Segments& segments) {
  pipeline_.begin({.settings = &settings_,
                   .exchanges = exchanges_,
                   .catalog = &catalog_,
                   .terms = terms_,
                   .models = models_.get(),
                   .rates = &rates_,
                   .signer = &signer_,
                   .caps = &caps_,
                   .grant = &grant_,
                   .pacer = &pacer_,
                   .scratch = &scratch_,
                   .geo = {},
                   .shading = {},
                   .asks_segments = true,
                   .asks_caps = asks_caps_},
                  {.now = now_,
                   .time_zero = now_,
                   .unix_s = unix_s_,
                   .bid_key = ++requests_,
                   .shed = false,
                   .debug = false,
                   .exchange = 0,
                   .body = padded});
  for (auto next = Pipeline::Next::kMore; next != Pipeline::Next::kDone;) {
    next = pipeline_.step(now_);
    if (next == Pipeline::Next::kAsk && pipeline_.ask().what == bidder::Ask::What::kSegments) {
      pipeline_.on_segments(segments);
    } else if (next == Pipeline::Next::kAsk) {
      nothing_shown_.resize(pipeline_.ask().keys.size());
      pipeline_.on_counts(nothing_shown_);
    }
  }
  return pipeline_.bids();
}

bool WholeBidder::notice(std::string_view kind, std::string_view query) {
  const auto notice = signer_.read(kind, query, unix_s_);
  if (!notice) {
    return false;
  }
  const auto& claims = notice->claims;
  const auto campaign = catalog_.find_campaign(claims.campaign);
  if (!campaign) {
    return false;
  }
  limits_.clear();
  keys_.clear();
  bidder::append_limits(catalog_, *campaign, claims.creative, unix_s_, limits_);
  for (const auto& limit : limits_) {
    keys_.push_back(limit.key);
  }
  const bool held = claims.user && !keys_.empty();
  if (notice->kind == NoticeKind::kLoss) {
    if (grant_.lose(claims.bid) == bidder::SettleOutcome::kSettled && held) {
      caps_.release(*claims.user, keys_, claims.hold, unix_s_);
    }
    return true;
  }
  const base::Cpm price = notice->price.value_or(claims.ceiling);
  const auto paid = bidder::charge_of(terms_[*campaign], price, claims.currency, rates_);
  const auto outcome = grant_.settle(claims.bid, paid.value_or(base::cost_of(price)));
  if (outcome != bidder::SettleOutcome::kDuplicate && held) {
    (void)caps_.win(*claims.user, keys_, claims.hold, unix_s_);
  }
  return true;
}

void WholeBidder::pass(base::Duration time) {
  now_ += time;
  unix_s_ += std::chrono::duration_cast<std::chrono::seconds>(time).count();
  (void)grant_.expire(now_, 65'536);
}

}  // namespace spillway::bench
