#include "exchange/notice_url.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace spillway::exchange {

namespace {

bool is_host_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_v6_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

bool read_port(std::string_view text, NoticePlace& out) {
  if (text.empty()) {
    out.port = out.tls ? 443 : 80;
    return true;
  }
  text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.port);
  return error == std::errc() && end == text.data() + text.size() && out.port != 0;
}

bool read_authority(const std::string& text, NoticePlace& out) {
  constexpr size_t kLongestName = 253;
  size_t end = text.find(':');
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string::npos) {
      return false;
    }
    out.host = text.substr(1, close - 1);
    end = close + 1;
    if (!std::ranges::all_of(out.host, is_v6_byte)) {
      return false;
    }
  } else {
    out.host = text.substr(0, end);
    if (!std::ranges::all_of(out.host, is_host_byte)) {
      return false;
    }
  }
  const std::string_view rest =
      end >= text.size() ? std::string_view{} : std::string_view(text).substr(end);
  return !out.host.empty() && out.host.size() <= kLongestName &&
         (rest.empty() || rest.starts_with(':')) && read_port(rest, out);
}

}  // namespace

std::optional<NoticeUrl> parse_notice_url(std::string_view url) {
  constexpr std::string_view kPlain = "http://";
  constexpr std::string_view kSecure = "https://";
  const auto breaks_out = [](char c) { return c <= ' ' || c == 0x7f; };
  if (url.size() > kNoticeUrlBytes || std::ranges::any_of(url, breaks_out)) {
    return std::nullopt;
  }
  NoticeUrl out;
  const std::string scheme = lower(url.substr(0, kSecure.size()));
  if (scheme.starts_with(kSecure)) {
    out.place.tls = true;
    url.remove_prefix(kSecure.size());
  } else if (scheme.starts_with(kPlain)) {
    url.remove_prefix(kPlain.size());
  } else {
    return std::nullopt;
  }
  url = url.substr(0, url.find('#'));
  const size_t end = std::min(url.find_first_of("/?"), url.size());
  if (!read_authority(lower(url.substr(0, end)), out.place)) {
    return std::nullopt;
  }
  url.remove_prefix(end);
  out.target = url.starts_with('/') ? "" : "/";
  out.target += url;
  return out;
}

}  // namespace spillway::exchange
