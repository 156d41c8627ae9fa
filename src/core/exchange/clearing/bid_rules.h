#pragma once

#include <string>

#include "exchange/clearing/bid.h"
#include "exchange/clearing/bid_fields.h"
#include "exchange/clearing/formats.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

/// What the rules look at beside the bid itself.
struct RuleInput {
  const openrtb::Document& document;
  const openrtb::RequestView& request;
  const DspConfig& dsp;
  const BidFields& fields;
  const Rates* rates = nullptr;     ///< Fresh ones, or null.
  AskedFormats* formats = nullptr;  ///< Of the request, or null.
  Floor account_floor = {};
  uint32_t margin_ppm = 0;      ///< The exchange's share of prices, but on deals.
  bool currency_known = false;  ///< The answer's `cur` is a code; it stands in Bid::currency.
  std::string& scratch;         ///< For decoded text.
};

/// Fills `bid` from its fields and returns the first reason against it, kWon when there is none.
/// Wants dsp, seat and currency set. Rules in mode warn set their bit and pass.
[[nodiscard]] openrtb::Loss judge(const RuleInput& input, Bid& bid);

}  // namespace spillway::exchange::clearing
