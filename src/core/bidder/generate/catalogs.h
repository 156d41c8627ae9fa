#pragma once

#include <cstdint>

#include "bidder/model.h"

namespace spillway::bidder::generate {

/// Of the first 150 seeds the one whose W1 comes closest to the figures measured on the original.
inline constexpr uint64_t kCatalogSeed = 139;

struct CatalogSettings {
  uint64_t seed = kCatalogSeed;
  uint32_t campaigns = 0;  ///< 0: as many as the workload has (5,000 in W1, 120,000 in W2).
  int64_t today_s = 0;     ///< Unix time that flights of W2 lie around; W1 has none.
};

inline constexpr uint32_t kParityCampaigns = 5'000;
inline constexpr uint32_t kParitySegments = 1'019;
inline constexpr uint32_t kHonestCampaigns = 120'000;

/// The catalog that belongs to the corpus of W1, by the numbers of a published load test: one line
/// item a campaign (with its id), 500 advertisers, 1,019 segments, five of eight campaigns active,
/// USD, CPM goals of 0.50 to 5.00, two caps each. Of the metros that the corpus asks for, 511, 534
/// and 819 are targeted by nobody. In order; the same rows for the same settings.
/// Cost: about 50 ms (bidder_bench --benchmark_filter=make_).
/// Source: workload W1.
[[nodiscard]] CatalogRows parity_catalog(const CatalogSettings& settings);

/// A catalog that flatters nobody, for the corpus of W2: every dimension included and excluded, one
/// to three line items a campaign, flights, time zones, three currencies, CPC and CPA goals, caps
/// of every kind, strict and open ones, creatives of every media with markup. In order;
/// the same rows for the same settings. Memory: about 3 KiB a campaign. Source: workload W2.
[[nodiscard]] CatalogRows honest_catalog(const CatalogSettings& settings);

}  // namespace spillway::bidder::generate
