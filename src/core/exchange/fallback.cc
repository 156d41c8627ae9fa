#include "exchange/fallback.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/call.h"
#include "exchange/conclusion.h"
#include "exchange/house.h"
#include "exchange/routing.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"

namespace spillway::exchange {

namespace {

enum class Case : uint8_t { kNoBid, kDegraded, kShed };

Case case_of(const Conclusion& end, uint32_t imp) {
  Case found = end.start->shed.least() > 0 ? Case::kShed : Case::kNoBid;
  for (size_t dsp = 0; dsp < end.snapshot->dsps.size(); ++dsp) {
    const uint32_t candidate = end.routes->candidate_of(dsp, imp);
    if (candidate == Routes::kNoCandidate) {
      continue;
    }
    const Call& call = *end.calls[candidate];
    if (partner_fault(call)) {
      return Case::kDegraded;
    }
    if (call.report.refusal == static_cast<uint16_t>(openrtb::NonBid::kShed)) {
      found = Case::kShed;
    }
  }
  return found;
}

Fallback policy_of(const Account& account, Case which) {
  switch (which) {
    case Case::kDegraded:
      return account.on_degraded;
    case Case::kShed:
      return account.on_shed;
    case Case::kNoBid:
      break;
  }
  return account.on_no_bid;
}

}  // namespace

void fill_empty_imps(const Conclusion& end, std::vector<HouseFill>& house, openrtb::NoBid& nbr) {
  for (uint32_t imp = 0; imp < end.request->imps.size(); ++imp) {
    if (end.winner_of(imp) != nullptr) {
      continue;
    }
    const Case which = case_of(end, imp);
    if (nbr == openrtb::NoBid::kUnknown && which == Case::kDegraded) {
      nbr = openrtb::NoBid::kTechnical;
    }
    if (nbr == openrtb::NoBid::kUnknown && which == Case::kShed) {
      nbr = openrtb::NoBid::kShed;
    }
    if (policy_of(*end.account, which) == Fallback::kHouse) {
      fill_with_house(*end.snapshot, *end.request, imp, end.start->seed,
                      {.currency = end.currency, .rates = end.rates}, house);
    }
  }
}

}  // namespace spillway::exchange
