#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spillway::exchange::clearing {

/// Whether an advertiser's domain, or a domain it is under, is among `listed` (lower case, without
/// "www."). `domain` may be in any case, carry "www.", a trailing dot, or be a whole URL.
[[nodiscard]] bool domain_listed(std::string_view domain, const std::vector<std::string>& listed);

/// Whether a category is among `blocked`. With `ancestors` (taxonomy 1, IAB25-3) also when its
/// parent is: IAB25 blocks IAB25-3, not IAB250. Letters compare without case.
[[nodiscard]] bool category_blocked(std::string_view category,
                                    const std::vector<std::string>& blocked, bool ancestors);

}  // namespace spillway::exchange::clearing
