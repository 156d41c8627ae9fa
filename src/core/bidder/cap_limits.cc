#include "bidder/cap_limits.h"

#include <cstdint>
#include <vector>

#include "bidder/caps/window.h"
#include "bidder/catalog.h"
#include "bidder/model.h"

namespace spillway::bidder {

void append_limits(const Catalog& catalog, uint32_t campaign, int64_t creative, int64_t unix_s,
                   std::vector<caps::CapLimit>& out) {
  const auto& row = catalog.campaigns()[campaign];
  if (row.caps.empty()) {
    return;
  }
  const auto& zone = catalog.zone_of_advertiser(catalog.advertiser_of_campaign(campaign));
  const int32_t offset_s = zone.offset_s(unix_s);
  for (const auto& cap : row.caps) {
    const int64_t id = cap.scope == CapScope::kCampaign     ? row.id
                       : cap.scope == CapScope::kAdvertiser ? row.advertiser
                                                            : creative;
    out.push_back({.key = {.scope = cap.scope,
                           .window = cap.window,
                           .kind = cap.kind,
                           .id = id,
                           .offset_s = offset_s},
                   .most = cap.most});
  }
}

}  // namespace spillway::bidder
