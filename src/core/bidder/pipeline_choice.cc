// The end of a Pipeline: prices, one bid for each imp, and the answer.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/decimal.h"
#include "base/hash.h"
#include "base/money.h"
#include "base/time.h"
#include "bidder/caps/table.h"
#include "bidder/catalog.h"
#include "bidder/explanation.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/pipeline.h"
#include "bidder/pricing.h"
#include "bidder/response.h"
#include "bidder/retrieval.h"
#include "bidder/stages.h"

namespace spillway::bidder {

const Campaign& Pipeline::campaign_of(const Contender& contender) const {
  const auto& catalog = *world_.catalog;
  return catalog.campaign_of(catalog.items()[contender.candidate.item]);
}

const CampaignTerms& Pipeline::terms_of(const Contender& contender) const {
  return world_.terms[world_.catalog->items()[contender.candidate.item].campaign];
}

// All bids of an answer are in one currency: the first that the request takes and somebody can pay
// in.
void Pipeline::choose_currency() {
  const auto payable = [this](const base::Currency& currency) {
    return std::ranges::any_of(
        std::span(contenders_).subspan(round_begin_), [&](const Contender& contender) {
          const auto& own = campaign_of(contender).currency;
          return contender.drop == DropReason::kNone &&
                 world_.rates->convert({1'000'000}, own, currency, base::Rounding::kDown);
        });
  };
  const auto found = std::ranges::find_if(facts_.currencies, payable);
  currency_ = found != facts_.currencies.end() ? *found : facts_.currencies.front();
}

void Pipeline::price() {
  next_ = Step::kChoose;
  if (chosen_.empty()) {
    choose_currency();
  }
  for (auto& contender : std::span(contenders_).subspan(round_begin_)) {
    if (contender.drop == DropReason::kNone) {
      price_one(contender);
    }
  }
}

void Pipeline::price_one(Contender& contender) {
  const auto& imp = facts_.imps()[contender.imp];
  SaleTerms sale{.floor = imp.floor,
                 .floor_currency = imp.floor_currency,
                 .currency = currency_,
                 .at = facts_.at == 1 ? SaleTerms::At::kFirst : SaleTerms::At::kSecond};
  bool floor_known = imp.floor_known;
  if (contender.candidate.deal != Candidate::kNoDeal) {
    const auto& deal = imp.deals[contender.candidate.deal];
    if (deal.floor_given) {
      sale.floor = deal.floor;
      sale.floor_currency = deal.floor_currency;
      floor_known = deal.floor_known;
    }
    if (deal.at == 1 || deal.at == 2 || (deal.at == 3 && deal.floor_given)) {
      sale.at = static_cast<SaleTerms::At>(deal.at);
    }
  }
  if (!floor_known) {
    return drop(contender, DropReason::kNoFloor);
  }
  const auto price =
      price_bid(terms_of(contender), contender.probability, sale, *world_.rates, world_.shading);
  if (price) {
    contender.price = *price;
    return;
  }
  switch (price.error()) {
    case PriceErrc::kBadProbability:
      return drop(contender, DropReason::kBadScore);
    case PriceErrc::kWorthless:
      return drop(contender, DropReason::kWorthless);
    case PriceErrc::kNoRate:
      return drop(contender, DropReason::kNoRate);
    case PriceErrc::kBelowFloor:
      return drop(contender, DropReason::kBelowFloor);
  }
}

void Pipeline::choose(base::Instant now) {
  for (uint32_t imp = 0; imp < slots_.size(); ++imp) {
    if (!slots_[imp].filled) {
      choose_imp(imp, now);
    }
  }
  if (begin_next_round()) {
    next_ = Step::kRetrieve;
  } else if (chosen_.empty()) {
    end(why_none());
  } else {
    next_ = Step::kBuild;
  }
}

// The dearest first; equal ones by a hash, so that none is always second and a replay decides
// alike.
void Pipeline::choose_imp(uint32_t imp, base::Instant now) {
  order_.clear();
  for (auto i = static_cast<uint32_t>(round_begin_); i < contenders_.size(); ++i) {
    if (contenders_[i].imp == imp && contenders_[i].drop == DropReason::kNone) {
      order_.push_back(i);
    }
  }
  const auto tie = [this](uint32_t i) {
    return base::combine64(start_.bid_key, contenders_[i].candidate.item);
  };
  std::ranges::sort(order_, [&](uint32_t a, uint32_t b) {
    return contenders_[a].price.bid != contenders_[b].price.bid
               ? contenders_[a].price.bid > contenders_[b].price.bid
               : tie(a) < tie(b);
  });
  for (const uint32_t index : order_) {
    if (slots_[imp].filled) {
      drop(contenders_[index], DropReason::kOutranked);
    } else if (const DropReason why = secure(index, now); why != DropReason::kNone) {
      drop(contenders_[index], why);
    } else {
      slots_[imp].filled = true;
    }
  }
}

// Takes a contender's places under its caps and its money, or neither.
DropReason Pipeline::secure(uint32_t index, base::Instant now) {
  const auto& contender = contenders_[index];
  Chosen chosen;
  chosen.contender = index;
  chosen.key = base::combine64(start_.bid_key, contender.imp);
  if (user_ && contender.limit_count > 0) {
    const auto hold =
        world_.caps->reserve(*user_, limits_of(contender), known_of(contender), start_.unix_s);
    if (!hold) {
      return hold.error() == caps::CapRefusal::kCapped ? DropReason::kCapTaken
                                                       : DropReason::kCapMemory;
    }
    chosen.hold = *hold;
    chosen.holds_caps = true;
  }
  auto money = world_.grant->try_reserve(campaign_of(contender).id, contender.price.hold,
                                         budget_time(contender, now));
  if (!money) {
    give_back(chosen);
    return DropReason::kNoMoney;
  }
  chosen.money = std::move(*money);
  chosen_.push_back(std::move(chosen));
  return DropReason::kNone;
}

bool Pipeline::begin_next_round() {
  if (++round_ >= world_.settings->rounds) {
    return false;
  }
  const bool more =
      std::ranges::any_of(slots_, [](const Slot& slot) { return !slot.filled && !slot.exhausted; });
  stats_.rounds.add(more ? 1 : 0);
  return more;
}

// By the last stage that somebody reached.
NoBidReason Pipeline::why_none() const {
  NoBidReason reason = NoBidReason::kNoCandidate;
  for (const auto& contender : contenders_) {
    NoBidReason own = NoBidReason::kUnscored;
    switch (bidder::stage_of(contender.drop)) {
      case Stage::kCap:
        own = NoBidReason::kCapped;
        break;
      case Stage::kPace:
        own = NoBidReason::kPaced;
        break;
      case Stage::kPrice:
        own = NoBidReason::kPriced;
        break;
      case Stage::kChoose:
        own = NoBidReason::kUnchosen;
        break;
      default:
        break;
    }
    reason = std::max(reason, own);
  }
  return reason;
}

void Pipeline::build(base::Instant now) {
  next_ = Step::kDone;
  if (!send_money(now)) {
    return end(NoBidReason::kUnchosen);
  }
  list_bids();
  if (explains_) {
    explain_ = explanation(*this);
  }
  const auto& settings = *world_.settings;
  append_answer(
      body_,
      {.request = view_.id,
       .currency = currency_,
       .seat = exchange().seat,
       .exchange = start_.exchange,
       .cattax = facts_.cattax,
       .expires_in_s = std::chrono::floor<std::chrono::seconds>(settings.bid_lifetime).count(),
       .signer = world_.signer,
       .explain = explain_},
      to_write_, writer_);
  stats_.answers.add();
  stats_.bids.add(chosen_.size());
  for (auto& chosen : chosen_) {
    if (const auto skipped = contenders_[chosen.contender].skipped) {
      stats_.caps_skipped[static_cast<size_t>(*skipped)].add();
    }
    if (view_.test) {
      give_back(chosen);  // a test is shown to nobody
    }
    chosen.holds_caps = false;  // from here on they are the notice's to give back
  }
}

// What cannot be booked does not go out. False: nothing is left.
bool Pipeline::send_money(base::Instant now) {
  if (view_.test) {
    return true;
  }
  std::erase_if(chosen_, [&](Chosen& chosen) {
    if (chosen.money.submit(chosen.key, now)) {
      return false;
    }
    give_back(chosen);
    drop(contenders_[chosen.contender], DropReason::kNoMoney);
    return true;
  });
  return !chosen_.empty();
}

void Pipeline::list_bids() {
  const auto& catalog = *world_.catalog;
  const auto lifetime =
      std::chrono::floor<std::chrono::seconds>(world_.settings->notice_lifetime).count();
  to_write_.clear();
  for (const auto& chosen : chosen_) {
    const auto& contender = contenders_[chosen.contender];
    const auto& item = catalog.items()[contender.candidate.item];
    const auto& creative = catalog.creatives()[contender.candidate.creative];
    const auto& imp = facts_.imps()[contender.imp];
    auto& bid = to_write_.emplace_back();
    bid.imp = view_.imps[contender.imp].id;
    if (contender.candidate.deal != Candidate::kNoDeal) {
      bid.deal = imp.deals[contender.candidate.deal].id;
    }
    bid.advertiser = &catalog.advertiser_of(item);
    bid.creative = &creative;
    bid.line_item = item.id;
    bid.price = contender.price.bid;
    bid.w = creative.w;
    bid.h = creative.h;
    bid.claims = {.bid = chosen.key,
                  .test = view_.test,
                  .arm = arm_,
                  .campaign = catalog.campaign_of(item).id,
                  .creative = creative.id,
                  .user = chosen.holds_caps ? user_ : std::nullopt,
                  .hold = chosen.hold,
                  .ceiling = contender.price.bid,
                  .currency = currency_,
                  .expires_s = start_.unix_s + lifetime};
  }
}

void Pipeline::give_back(Chosen& chosen) {
  if (chosen.holds_caps && user_) {
    given_back_.clear();
    for (const auto& limit : limits_of(contenders_[chosen.contender])) {
      given_back_.push_back(limit.key);
    }
    world_.caps->release(*user_, given_back_, chosen.hold, start_.unix_s);
    chosen.holds_caps = false;
  }
  chosen.money.cancel();
}

void Pipeline::release_all() {
  for (auto& chosen : chosen_) {
    give_back(chosen);
  }
  chosen_.clear();
}

}  // namespace spillway::bidder
