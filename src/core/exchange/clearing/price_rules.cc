#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/decimal.h"
#include "base/money.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/bid_rules.h"
#include "exchange/clearing/blocklist.h"
#include "exchange/clearing/rates.h"
#include "exchange/clearing/rule_parts.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

namespace {

using openrtb::Deal;
using openrtb::Imp;
using openrtb::Kind;
using openrtb::Loss;
using openrtb::NodeId;

constexpr uint32_t kWholePpm = 1'000'000;

/// The deal the bid is in; null when it is in none that was offered.
const Deal* deal_of(const RuleInput& input, const Bid& bid) {
  return bid.deal == Bid::kNoDeal ? nullptr : &imp_of(input, bid).deals[bid.deal];
}

/// A floor as it was asked for.
struct Asked {
  base::Cpm floor;
  base::Currency currency;
  Loss below = Loss::kBelowFloor;
};

/// The deal's own floor when it names one, be it 0; else the imp's.
Asked floor_that_applies(const RuleInput& input, const Bid& bid) {
  if (const Deal* deal = deal_of(input, bid); deal != nullptr && deal->floor_given) {
    return {.floor = deal->floor, .currency = deal->floor_currency, .below = Loss::kBelowDealFloor};
  }
  const Imp& imp = imp_of(input, bid);
  return {.floor = imp.floor, .currency = imp.floor_currency};
}

/// A price agreed in a deal is the publisher's whole; a deal nobody offered is none. A fixed price
/// that is not named is none either: such a deal is at first price.
void take_terms(const RuleInput& input, Bid& bid) {
  bid.margin_ppm = input.margin_ppm;
  bid.discount_ppm = kWholePpm - input.dsp.adjustment_ppm;
  if (input.fields.dealid == openrtb::kAbsent) {
    return;
  }
  input.document.append_string(input.fields.dealid, bid.deal_id);
  const auto& deals = imp_of(input, bid).deals;
  const auto found = std::ranges::find(deals, bid.deal_id, &Deal::id);
  if (bid.deal_id.empty() || found == deals.end()) {
    return;
  }
  bid.deal = static_cast<uint32_t>(found - deals.begin());
  bid.margin_ppm = bid.discount_ppm = 0;
  const bool is_fixed = found->at == Bid::kFixedPrice;
  bid.at = static_cast<uint8_t>(is_fixed && !found->floor_given ? 1 : found->at);
}

}  // namespace

Loss price(const RuleInput& input, Bid& bid) {
  if (!input.document.is(input.fields.price, Kind::kNumber)) {
    return Loss::kMissingPrice;
  }
  const std::string_view text = input.document.raw(input.fields.price);
  if (text.starts_with('-')) {
    return Loss::kInvalidResponse;
  }
  const auto micros = base::parse_micros(text, base::Rounding::kDown);
  if (!micros.has_value()) {
    return Loss::kPriceSanity;
  }
  bid.price = base::Cpm{*micros};
  take_terms(input, bid);
  if (bid.price > input.dsp.checks.price_cap) {
    return Loss::kPriceSanity;
  }
  const bool may_be_free = bid.at == Bid::kFixedPrice;
  if (bid.net().micros == 0 && !may_be_free && floor_that_applies(input, bid).floor.micros <= 0) {
    return Loss::kInvalidResponse;
  }
  return Loss::kWon;
}

Loss currency(const RuleInput& input, Bid& bid) {
  const auto& allowed = input.request.currencies;
  if (!input.currency_known) {
    return Loss::kNoFxRate;
  }
  if (std::ranges::find(allowed, bid.currency) != allowed.end()) {
    return Loss::kWon;
  }
  if (input.dsp.checks.currency_from_request_only) {
    return Loss::kNoFxRate;
  }
  const bool convertible =
      input.rates != nullptr &&
      input.rates->convert(bid.price, bid.currency, allowed.front(), base::Rounding::kDown);
  // A caller that names no currency takes any.
  return convertible || !input.request.currencies_given ? Loss::kWon : Loss::kNoFxRate;
}

Loss floor(const RuleInput& input, Bid& bid) {
  const Asked asked = floor_that_applies(input, bid);
  if (asked.floor.micros <= 0) {
    return Loss::kWon;
  }
  bid.floor = asked.floor;
  if (asked.currency != bid.currency) {
    if (input.rates == nullptr) {
      return Loss::kNoFxRate;
    }
    const auto converted =
        input.rates->convert(asked.floor, asked.currency, bid.currency, base::Rounding::kUp);
    if (!converted) {
      return Loss::kNoFxRate;
    }
    bid.floor = *converted;
  }
  return bid.net() < bid.floor ? asked.below : Loss::kWon;
}

Loss deal(const RuleInput& input, Bid& bid) {
  const NodeId id = input.fields.dealid;
  const Check mode = input.dsp.checks.deal;
  if (bid.deal_id.empty() && (id == openrtb::kAbsent || input.document.is(id, Kind::kString))) {
    return imp_of(input, bid).private_auction
               ? broken(mode, Warning::kDeal, Loss::kNotAllowedInDeal, bid)
               : Loss::kWon;
  }
  return bid.deal != Bid::kNoDeal ? Loss::kWon
                                  : broken(mode, Warning::kDeal, Loss::kInvalidDeal, bid);
}

/// Who may bid on the deal, and for whom. A deal for named advertisers wants every domain of the
/// bid among them, and at least one.
Loss deal_terms(const RuleInput& input, Bid& bid) {
  const Deal* deal = deal_of(input, bid);
  if (deal == nullptr) {
    return Loss::kWon;
  }
  const Check mode = input.dsp.checks.deal;
  if (!deal->wseat.empty() && std::ranges::find(deal->wseat, bid.seat) == deal->wseat.end()) {
    return broken(mode, Warning::kDeal, Loss::kSeatBlocked, bid);
  }
  if (deal->wadomain.empty()) {
    return Loss::kWon;
  }
  bool any = false;
  const bool stranger = any_element(input.document, input.fields.adomain, [&](NodeId domain) {
    any = true;
    return !domain_listed(decoded(input, domain), deal->wadomain);
  });
  return any && !stranger ? Loss::kWon : broken(mode, Warning::kDeal, Loss::kNotAllowedInDeal, bid);
}

}  // namespace spillway::exchange::clearing
