#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/decimal.h"
#include "base/money.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/bid_rules.h"
#include "exchange/clearing/blocklist.h"
#include "exchange/clearing/floors.h"
#include "exchange/clearing/margin.h"
#include "exchange/clearing/rates.h"
#include "exchange/clearing/rule_parts.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

namespace {

using openrtb::Deal;
using openrtb::Imp;
using openrtb::Key;
using openrtb::Kind;
using openrtb::Loss;
using openrtb::NodeId;

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

/// A price of the request's own document; zero when it is none.
base::Cpm price_at(const openrtb::Document& asked, NodeId node) {
  const auto micros = base::parse_micros(asked.raw(node), base::Rounding::kUp);
  return {asked.is(node, Kind::kNumber) ? std::max<int64_t>(0, micros.value_or(0)) : 0};
}

/// What a video or audio imp asks for so many seconds: the entry of `durfloors` they fall in, else
/// `mincpmpersec` a second; nullopt when it says neither.
std::optional<base::Cpm> floor_by_duration(const openrtb::Document& asked, NodeId imp,
                                           int64_t seconds) {
  NodeId media = asked.find(imp, Key::video);
  media = media != openrtb::kAbsent ? media : asked.find(imp, Key::audio);
  for (const NodeId entry : asked.children(asked.find(media, Key::durfloors))) {
    const int64_t least = asked.integer(asked.find(entry, Key::mindur)).value_or(0);
    const int64_t most = asked.integer(asked.find(entry, Key::maxdur)).value_or(0);
    if (seconds >= least && (most <= 0 || seconds <= most)) {
      return price_at(asked, asked.find(entry, Key::bidfloor));
    }
  }
  constexpr int64_t kLongest = 86'400;
  const base::Cpm second = price_at(asked, asked.find(media, Key::mincpmpersec));
  if (second.micros == 0) {
    return std::nullopt;
  }
  const int64_t counted = std::min(seconds, kLongest);
  return second.micros > INT64_MAX / counted ? base::Cpm{INT64_MAX}
                                             : base::Cpm{second.micros * counted};
}

/// The deal's own floor when it names one, be it 0, else the imp's: by the duration of the bid when
/// it says one and the imp asks by it.
Asked floor_that_applies(const RuleInput& input, const Bid& bid) {
  if (const Deal* deal = deal_of(input, bid); deal != nullptr && deal->floor_given) {
    return {.floor = deal->floor, .currency = deal->floor_currency, .below = Loss::kBelowDealFloor};
  }
  const Imp& imp = imp_of(input, bid);
  const int64_t seconds = input.document.integer(input.fields.dur).value_or(0);
  std::optional<base::Cpm> by_duration;
  if (seconds > 0 && input.formats != nullptr) {
    by_duration = floor_by_duration(input.formats->document(), imp.node, seconds);
  }
  return {.floor = by_duration.value_or(imp.floor), .currency = imp.floor_currency};
}

/// The operator's floors hold for all bids but those of a deal with a floor of its own.
bool is_agreed(const Asked& asked) { return asked.below == Loss::kBelowDealFloor; }

/// Whether any floor above zero applies.
bool has_floor(const RuleInput& input, const Bid& bid) {
  const Asked asked = floor_that_applies(input, bid);
  return asked.floor.micros > 0 || (!is_agreed(asked) && (input.account_floor.price.micros > 0 ||
                                                          input.dsp.floor.price.micros > 0));
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

/// The cap is in USD; without a rate the same number of units.
base::Cpm cap_in(const RuleInput& input, const base::Currency& currency) {
  const base::Cpm cap = input.dsp.checks.price_cap;
  const bool is_converted = input.rates != nullptr && input.currency_known;
  return is_converted ? input.rates->convert(cap, {}, currency, base::Rounding::kUp).value_or(cap)
                      : cap;
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
  if (bid.price > cap_in(input, bid.currency)) {
    return Loss::kPriceSanity;
  }
  const bool may_be_free = bid.at == Bid::kFixedPrice;
  if (bid.net().micros == 0 && !may_be_free && !has_floor(input, bid)) {
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
  std::array<Floor, 3> floors = {Floor{.price = asked.floor, .currency = asked.currency}};
  if (!is_agreed(asked)) {
    floors[1] = input.account_floor;
    floors[2] = input.dsp.floor;
  }
  const auto best = highest(floors, bid.currency, input.rates);
  if (!best) {
    return Loss::kNoFxRate;
  }
  bid.floor = *best;
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
