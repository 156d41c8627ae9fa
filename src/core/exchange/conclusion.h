#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/money.h"
#include "exchange/auction.h"
#include "exchange/call.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/rates.h"
#include "exchange/house.h"
#include "exchange/prebid.h"
#include "exchange/privacy.h"
#include "exchange/routing.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/path_edits.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

/// Everything an ended auction came to, as the writers of replies and reasons read it. Views into
/// the auction; valid until it is reset.
struct Conclusion {
  const Snapshot* snapshot = nullptr;
  const Account* account = nullptr;
  const Start* start = nullptr;
  const openrtb::Document* document = nullptr;
  const openrtb::RequestView* request = nullptr;
  const Routes* routes = nullptr;
  const Prebid* prebid = nullptr;
  std::span<const openrtb::PathEdit> fill;     ///< What a silent request was taken to say.
  std::span<const PrivacyDecision> privacy{};  ///< One a DSP.
  std::span<const Ask> asks;
  std::span<const std::unique_ptr<Call>> calls;  ///< One a candidate.
  std::span<const clearing::Bid* const> bids;
  std::span<const clearing::Cleared> cleared;     ///< One an imp, or none.
  std::span<const HouseFill> house;               ///< In order of imp.
  base::Currency currency;                        ///< Of the whole reply.
  const clearing::Rates* rates = nullptr;         ///< Fresh ones, or null.
  openrtb::NoBid nbr = openrtb::NoBid::kUnknown;  ///< Why, when nobody won.
  uint64_t bidid = 0;                             ///< Names the reply: hash of id and seed.

  /// Whether the answer is for Prebid.js's server adapter in a browser, which reads it as a Prebid
  /// Server's. Servers that pass its requests on read plain OpenRTB.
  [[nodiscard]] bool is_for_prebid() const { return start->has_origin && prebid->speaks(); }

  /// The winning bid of an imp, or null.
  [[nodiscard]] const clearing::Bid* winner_of(size_t imp) const {
    return imp < cleared.size() && cleared[imp].winner != clearing::Cleared::kNobody
               ? bids[cleared[imp].winner]
               : nullptr;
  }
};

}  // namespace spillway::exchange
