#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::exchange::clearing {

/// Whether an advertiser's domain, or a domain it is under, is among `listed` (lower case, without
/// "www."). `domain` may be in any case, carry "www.", a trailing dot, or be a whole URL.
[[nodiscard]] bool domain_listed(std::string_view domain, const std::vector<std::string>& listed);

/// Content Taxonomy 1.0, what categories are of unless `cattax` says otherwise. Source: AdCOM 1.0,
/// "List: Category Taxonomies".
inline constexpr int64_t kContentTaxonomy1 = 1;

/// Whether a category is among `listed`, both of `taxonomy`. In taxonomy 1 also when its parent is:
/// IAB25 lists IAB25-3, not IAB250. In the others only when it is there itself: their ids do not
/// tell their parents. Letters compare without case.
[[nodiscard]] bool category_listed(std::string_view category,
                                   const std::vector<std::string>& listed, int64_t taxonomy);

}  // namespace spillway::exchange::clearing
