#include "exchange/routing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "exchange/auction.h"
#include "exchange/prebid.h"
#include "exchange/privacy.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

namespace {

using openrtb::MediaType;
using openrtb::NonBid;

constexpr uint32_t kNoEndpoint = 0xffffffff;
constexpr auto kSized = static_cast<uint8_t>(static_cast<uint8_t>(MediaType::kBanner) |
                                             static_cast<uint8_t>(MediaType::kVideo));

bool contains(const std::vector<std::string>& list, std::string_view value) {
  return std::ranges::find(list, value) != list.end();
}

/// kNoBid when the whole request suits the DSP.
NonBid request_code(const DspConfig& dsp, const openrtb::RequestView& request, uint64_t hash) {
  const Routing& rules = dsp.routing;
  if (!rules.countries.empty() && !contains(rules.countries, request.country)) {
    return NonBid::kBlocked;
  }
  if (!rules.publishers_allow.empty() && !contains(rules.publishers_allow, request.publisher_id)) {
    return NonBid::kBlocked;
  }
  if (!rules.publishers_deny.empty() && contains(rules.publishers_deny, request.publisher_id)) {
    return NonBid::kBlocked;
  }
  if (rules.share_ratio < 1.0 &&
      base::unit(base::combine64(hash, base::hash64(dsp.name))) >= rules.share_ratio) {
    return NonBid::kOptimized;
  }
  return NonBid::kNoBid;
}

/// Whether one size of the imp is wanted. An imp that names no size, allows ratios, or has a part
/// without size (audio, native) suits every list.
bool size_suits(const std::vector<openrtb::Size>& wanted, const openrtb::Imp& imp) {
  const bool has_video_size = imp.video_size != openrtb::Size{};
  if (wanted.empty() || !imp.ratios.empty() || (imp.media & ~kSized) != 0 ||
      (imp.sizes.empty() && !has_video_size)) {
    return true;
  }
  const auto is_wanted = [&](const openrtb::Size& size) {
    return std::ranges::find(wanted, size) != wanted.end();
  };
  return (has_video_size && is_wanted(imp.video_size)) || std::ranges::any_of(imp.sizes, is_wanted);
}

uint32_t endpoint_for(const DspConfig& dsp, uint8_t media) {
  uint32_t partial = kNoEndpoint;
  for (uint32_t i = 0; i < dsp.endpoints.size(); ++i) {
    const auto taken = static_cast<uint8_t>(dsp.endpoints[i].media & media);
    if (taken == media) {
      return i;
    }
    if (taken != 0 && partial == kNoEndpoint) {
      partial = i;
    }
  }
  return partial;
}

}  // namespace

void Routes::clear() {
  imps_ = 0;
  count_ = 0;
  cells_.clear();
}

void Routes::refuse_all(const Snapshot& snapshot, const openrtb::RequestView& request,
                        NonBid code) {
  imps_ = request.imps.size();
  count_ = 0;
  cells_.assign(snapshot.dsps.size() * imps_, Cell{.candidate = kNoCandidate, .code = code});
}

Candidate& Routes::add(uint32_t dsp, uint32_t endpoint) {
  if (count_ == candidates_.size()) {
    candidates_.emplace_back();
  }
  Candidate& added = candidates_[count_++];
  added.dsp = dsp;
  added.endpoint = endpoint;
  added.imps.clear();
  return added;
}

void Routes::route_dsp(const DspConfig& dsp, uint32_t index, const openrtb::RequestView& request,
                       const Prebid& prebid) {
  Cell* const cells = cells_.data() + index * imps_;
  endpoints_.assign(imps_, kNoEndpoint);
  for (size_t i = 0; i < imps_; ++i) {
    const openrtb::Imp& imp = request.imps[i];
    endpoints_[i] = endpoint_for(dsp, imp.media);
    if (endpoints_[i] == kNoEndpoint) {
      cells[i].code = NonBid::kMediaType;
    } else if (!prebid.allows(index, i) || !size_suits(dsp.routing.sizes, imp)) {
      cells[i].code = NonBid::kBlocked;
      endpoints_[i] = kNoEndpoint;
    }
  }
  for (uint32_t endpoint = 0; endpoint < dsp.endpoints.size(); ++endpoint) {
    Candidate* candidate = nullptr;
    for (uint32_t i = 0; i < imps_; ++i) {
      if (endpoints_[i] != endpoint) {
        continue;
      }
      if (candidate == nullptr) {
        candidate = &add(index, endpoint);
      }
      candidate->imps.push_back(i);
      cells[i].candidate = static_cast<uint32_t>(count_ - 1);
    }
  }
}

void Routes::route(const Snapshot& snapshot, const openrtb::RequestView& request,
                   const Prebid& prebid, uint64_t hash, std::span<const PrivacyDecision> privacy) {
  refuse_all(snapshot, request, NonBid::kNoBid);
  for (uint32_t index = 0; index < snapshot.dsps.size(); ++index) {
    const bool is_let = index >= privacy.size() || privacy[index].copy != PrivacyClass::kNoCall;
    const NonBid code =
        is_let ? request_code(snapshot.dsps[index], request, hash) : NonBid::kPrivacy;
    if (code == NonBid::kNoBid) {
      route_dsp(snapshot.dsps[index], index, request, prebid);
      continue;
    }
    for (size_t i = 0; i < imps_; ++i) {
      cells_[index * imps_ + i].code = code;
    }
  }
}

}  // namespace spillway::exchange
