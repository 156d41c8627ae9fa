#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bidder/model.h"
#include "bidder/value_table.h"

namespace spillway::bidder {

/// Which advertisers a blocked category (bcat) or domain (badv) keeps out, by index: looked up once
/// an entry of the request's lists, however many advertisers there are. A category blocks those
/// filed under it or below it (IAB7 blocks IAB7-39); who is filed above it may be in it, and is
/// blocked too. That holds for taxonomy 1, whose codes say what is above them; in others equal
/// codes alone match, and who is not filed in the request's taxonomy at all is not known to be
/// outside of what it blocks. A domain blocks its subdomains. Immutable, any thread. Cost: one
/// look-up an entry, two for a category.
class AdvertiserBlocks {
 public:
  AdvertiserBlocks() = default;

  /// Categories and domains in their one spelling (canonical.h).
  explicit AdvertiserBlocks(std::span<const Advertiser> advertisers);

  /// Filed under `category` or below it.
  [[nodiscard]] std::span<const uint32_t> within_category(std::string_view category) const {
    return within_.find(category);
  }

  /// Filed under exactly `category`.
  [[nodiscard]] std::span<const uint32_t> in_category(std::string_view category) const {
    return exact_.find(category);
  }

  /// By advertiser, whether it is filed in this taxonomy at all; empty: nobody is.
  [[nodiscard]] std::span<const uint8_t> filed_in(int64_t taxonomy) const;

  [[nodiscard]] std::span<const uint32_t> within_domain(std::string_view domain) const {
    return domains_.find(domain);
  }

 private:
  class Groups {
   public:
    void add(std::string_view value, uint32_t advertiser);
    [[nodiscard]] std::span<const uint32_t> find(std::string_view value) const;

   private:
    ValueTable values_;
    std::vector<std::vector<uint32_t>> members_;  ///< By value.
  };

  /// Who is filed in a taxonomy other than 1.
  struct Filed {
    int64_t taxonomy = 0;
    std::vector<uint8_t> advertisers;
  };

  /// By advertiser, of a taxonomy that is seen for the first time perhaps.
  std::span<uint8_t> filers_in(int64_t taxonomy, size_t advertisers);

  std::vector<Filed> filed_;
  Groups within_;
  Groups exact_;
  Groups domains_;
};

}  // namespace spillway::bidder
