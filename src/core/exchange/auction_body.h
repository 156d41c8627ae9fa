#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/call.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/formats.h"
#include "exchange/clearing/rates.h"
#include "exchange/conclusion.h"
#include "exchange/house.h"
#include "exchange/outgoing.h"
#include "exchange/prebid.h"
#include "exchange/privacy.h"
#include "exchange/response.h"
#include "exchange/routing.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/path_edits.h"
#include "openrtb/validate.h"
#include "resilience/guard.h"

namespace spillway::exchange {

/// What an auction holds between its calls, and the steps they are made of. Only auction*.cc
/// includes this: the order of the steps, and what each may be called on, is Auction's.
struct Auction::Body {
  enum class Stage : uint8_t { kIdle, kRouted, kAsking, kEnded };

  const Snapshot* snapshot = nullptr;
  const Account* account = nullptr;
  Start input;
  Stage stage = Stage::kIdle;
  openrtb::Document document;
  openrtb::RequestView request;
  uint64_t request_hash = 0;
  base::Instant deadline{};
  base::Instant miss_after{};
  base::Instant admitted_at{};

  Prebid prebid;
  std::vector<PrivacyDecision> privacy;  ///< One a DSP, once routed.
  Routes routes;
  Outgoing outgoing;
  std::vector<openrtb::PathEdit> fill;       ///< See fill_silence.
  std::vector<openrtb::NodeId> params;       ///< Of the candidate being asked.
  std::vector<std::unique_ptr<Call>> calls;  ///< One a candidate in front; the rest is kept memory.
  std::vector<Ask> asks;
  size_t outstanding = 0;

  clearing::AskedFormats formats;
  std::vector<clearing::Bid*> bids;
  std::vector<clearing::Cleared> cleared;
  std::vector<HouseFill> house;
  base::Currency currency;
  openrtb::NoBid nbr = openrtb::NoBid::kUnknown;
  Call late;  ///< Where answers after the end are read, to be judged and forgotten.
  ResponseWriter writer;
  ReplyBytes reply;

  void reset();
  bool read();
  void refuse_everyone(openrtb::NoBid why, openrtb::NonBid code);
  void decide_privacy();
  void prepare_calls();
  bool ask(base::Instant now, uint32_t candidate, const resilience::Terms& terms,
           base::Duration network_cost);
  DspEdits edits_for(uint32_t index, int64_t tmax_ms);
  void gather_bids();
  void end();
  [[nodiscard]] Conclusion conclusion() const;

  [[nodiscard]] std::span<const Candidate> candidates() const { return routes.candidates(); }

  /// The snapshot's while they are fresh by the recorded time of the auction, else none.
  [[nodiscard]] const clearing::Rates* rates() const {
    return snapshot->rates.fresh(input.wall_ms) ? &snapshot->rates : nullptr;
  }

  [[nodiscard]] size_t candidate_count() const { return candidates().size(); }
};

}  // namespace spillway::exchange
