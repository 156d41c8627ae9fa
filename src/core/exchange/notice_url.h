#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spillway::exchange {

/// Longer notice URLs are refused.
inline constexpr size_t kNoticeUrlBytes = 4'096;

/// Whom a notice goes to: what shares connections, guard and rate.
struct NoticePlace {
  bool tls = false;
  std::string host;  ///< Lower case; an IPv6 literal without its brackets.
  uint16_t port = 80;

  friend auto operator<=>(const NoticePlace&, const NoticePlace&) = default;
};

struct NoticeUrl {
  NoticePlace place;
  std::string target;  ///< Path and query, as they stood.
};

/// Reads an absolute http or https URL from a bid. Nothing when it is none, is too long, names a
/// user, or holds bytes that could break out of a request line. A fragment is cut off.
[[nodiscard]] std::optional<NoticeUrl> parse_notice_url(std::string_view url);

}  // namespace spillway::exchange
