#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "bidder/facts.h"
#include "bidder/model.h"

namespace spillway::bench {

/// The targeting rules of the bidder that workload W1 was measured on, with their faults: they
/// serve to show that the workload is the same one, and nothing else. One list is enough of country
/// and metro together; countries are compared as they are spelt, of two letters here and three
/// there; line items without segments are left out for users who have some, and those without a
/// place for requests that have one; a user whom the store does not know matches every segment;
/// when no line item serves at this hour, all do; the first creative of a medium serves, whatever
/// its size. Source: workload W1.
class OldRules {
 public:
  explicit OldRules(const bidder::CatalogRows& rows);

  /// What the old system knew of a request.
  struct Asked {
    std::string country;  ///< As it stands in the request.
    std::string metro;
    int32_t device_type = 0;
    bool known = false;  ///< The user, to the store.
    std::vector<uint32_t> segments;
    size_t hour = 0;  ///< Of the week, UTC.
  };

  /// Ids of the line items that may serve one imp, dearest first; of one price the lower id first.
  [[nodiscard]] std::vector<int64_t> eligible(const Asked& asked, bidder::Media media) const;

  [[nodiscard]] size_t size() const { return items_.size(); }

 private:
  struct OldItem {
    int64_t id = 0;
    int64_t price_micros = 0;
    const bidder::Targeting* targeting = nullptr;
    std::vector<uint32_t> segments;  ///< Ascending.
    std::set<bidder::Media> media;   ///< Of its creatives.
  };

  std::vector<OldItem> items_;  ///< In the order of eligible().
};

}  // namespace spillway::bench
