#include "bidder/advertiser_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bidder/canonical.h"
#include "bidder/model.h"
#include "bidder/value_table.h"

namespace spillway::bidder {

AdvertiserBlocks::AdvertiserBlocks(std::span<const Advertiser> advertisers) {
  for (uint32_t i = 0; i < advertisers.size(); ++i) {
    for (const std::string& category : advertisers[i].categories) {
      exact_.add(category, i);
      if (const int64_t taxonomy = taxonomy_of(category); taxonomy != 1) {
        filers_in(taxonomy, advertisers.size())[i] = 1;
      }
      for (std::string_view at = category; !at.empty(); at = parent_category(at)) {
        within_.add(at, i);
      }
    }
    for (std::string_view at = advertisers[i].domain; !at.empty(); at = parent_domain(at)) {
      domains_.add(at, i);
    }
  }
}

std::span<uint8_t> AdvertiserBlocks::filers_in(int64_t taxonomy, size_t advertisers) {
  auto filed = std::ranges::find(filed_, taxonomy, &Filed::taxonomy);
  if (filed == filed_.end()) {
    filed = filed_.insert(filed, {.taxonomy = taxonomy, .advertisers = {}});
    filed->advertisers.resize(advertisers);
  }
  return filed->advertisers;
}

std::span<const uint8_t> AdvertiserBlocks::filed_in(int64_t taxonomy) const {
  const auto filed = std::ranges::find(filed_, taxonomy, &Filed::taxonomy);
  return filed == filed_.end() ? std::span<const uint8_t>{} : std::span(filed->advertisers);
}

void AdvertiserBlocks::Groups::add(std::string_view value, uint32_t advertiser) {
  const uint32_t at = values_.insert(value);
  if (at == members_.size()) {
    members_.emplace_back();
  }
  if (members_[at].empty() || members_[at].back() != advertiser) {
    members_[at].push_back(advertiser);
  }
}

std::span<const uint32_t> AdvertiserBlocks::Groups::find(std::string_view value) const {
  const uint32_t at = values_.find(value);
  return at == kNoValue ? std::span<const uint32_t>{} : std::span(members_[at]);
}

}  // namespace spillway::bidder
