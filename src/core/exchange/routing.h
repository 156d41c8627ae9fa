#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/auction.h"
#include "exchange/prebid.h"
#include "exchange/privacy.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

/// Which DSPs qualify for which imps of a request, before any guard is asked.
///
/// Every imp of a DSP goes to one of its endpoints: the first that takes all media types of the
/// imp, else the first that takes one of them. So a DSP with a display and a video endpoint gets
/// one call to each, with disjoint imps.
///
/// Codes of what is not asked: 200 the publisher, country or size rules of the DSP, or an imp that
/// names other bidders; 202 no endpoint for the media type; 203 outside its share of traffic; 204
/// privacy.
///
/// One thread owns it; reused, it allocates nothing after warm-up.
class Routes {
 public:
  static constexpr uint32_t kNoCandidate = 0xffffffff;

  /// Routes a request. `hash` decides shares of traffic together with the DSP's name; `prebid`
  /// which imps name bidders. `privacy` has a decision a DSP, or is empty: all are let. Cost:
  /// linear in DSPs times imps.
  void route(const Snapshot& snapshot, const openrtb::RequestView& request, const Prebid& prebid,
             uint64_t hash, std::span<const PrivacyDecision> privacy = {});

  /// Nobody is asked, for one reason.
  void refuse_all(const Snapshot& snapshot, const openrtb::RequestView& request,
                  openrtb::NonBid code);

  void clear();

  /// In order of DSP, then endpoint; imps ascending.
  [[nodiscard]] std::span<const Candidate> candidates() const {
    return {candidates_.data(), count_};
  }

  /// The candidate that asks this DSP for this imp, or kNoCandidate. Requires both in range.
  [[nodiscard]] uint32_t candidate_of(size_t dsp, size_t imp) const {
    return cells_[dsp * imps_ + imp].candidate;
  }

  /// Why there is none; kNoBid when there is one.
  [[nodiscard]] openrtb::NonBid code_of(size_t dsp, size_t imp) const {
    return cells_[dsp * imps_ + imp].code;
  }

 private:
  struct Cell {
    uint32_t candidate = kNoCandidate;
    openrtb::NonBid code = openrtb::NonBid::kNoBid;
  };

  void route_dsp(const DspConfig& dsp, uint32_t index, const openrtb::RequestView& request,
                 const Prebid& prebid);
  Candidate& add(uint32_t dsp, uint32_t endpoint);

  size_t imps_ = 0;
  std::vector<Cell> cells_;            ///< dsps times imps.
  std::vector<Candidate> candidates_;  ///< The first `count_` count; the rest is kept memory.
  size_t count_ = 0;
  std::vector<uint32_t> endpoints_;  ///< Of one DSP: the endpoint of each imp.
};

}  // namespace spillway::exchange
