#include "net/answer_headers.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <time.h>

#include "base/time.h"
#include "net/http.h"

namespace spillway::net {
namespace {

constexpr int64_t kMostSeconds = 300;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

/// Digits only, saturating.
std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) {
    return std::nullopt;
  }
  return error == std::errc::result_out_of_range ? UINT32_MAX : value;
}

}  // namespace

base::Duration retry_after(std::string_view value) {
  value = trim(value);
  int64_t seconds = 0;
  if (const auto delay = number(value)) {
    seconds = *delay;
  } else {
    std::tm parts{};
    const std::string text(value.substr(0, 64));
    const char* const end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (end == nullptr || *end != '\0') {
      return {};
    }
    seconds = timegm(&parts) - std::time(nullptr);
  }
  return std::chrono::seconds(std::clamp<int64_t>(seconds, 0, kMostSeconds));
}

KeepAlive keep_alive(std::string_view value) {
  KeepAlive result;
  while (!value.empty()) {
    const size_t comma = std::min(value.find(','), value.size());
    const std::string_view item = trim(value.substr(0, comma));
    value.remove_prefix(std::min(comma + 1, value.size()));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      continue;
    }
    const std::string_view name = trim(item.substr(0, equals));
    if (same_name(name, "timeout")) {
      result.timeout_s = number(trim(item.substr(equals + 1)));
    } else if (same_name(name, "max")) {
      result.max = number(trim(item.substr(equals + 1)));
    }
  }
  return result;
}

}  // namespace spillway::net
