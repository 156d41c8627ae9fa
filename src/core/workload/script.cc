#include "workload/script.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/time.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::workload {

namespace {

using Does = ScriptedCall::Does;

constexpr std::array<std::string_view, 5> kWords = {"bid", "no_bid", "hang", "reset", "garbage"};
constexpr double kLongestMs = 60'000;

/// The call of one line; nothing when it is none.
std::optional<ScriptedCall> call_of(openrtb::Document& json, std::string_view line) {
  const openrtb::Padded padded(line);
  if (!json.walk(padded.view()) || !json.is(json.root(), openrtb::Kind::kObject)) {
    return std::nullopt;
  }
  ScriptedCall call;
  double delay_ms = 0;
  const std::string_view ms = json.raw(json.find(json.root(), "ms"));
  const auto [end, error] = std::from_chars(ms.data(), ms.data() + ms.size(), delay_ms);
  if (error != std::errc() || end != ms.data() + ms.size() ||
      !(delay_ms >= 0 && delay_ms <= kLongestMs)) {
    return std::nullopt;
  }
  call.delay = base::Duration(static_cast<int64_t>(delay_ms * 1e6));
  const auto does = json.find(json.root(), "does");
  if (json.is(does, openrtb::Kind::kString)) {
    const auto word = std::ranges::find(kWords, json.raw_string(does));
    if (word == kWords.end()) {
      return std::nullopt;
    }
    call.does = static_cast<Does>(word - kWords.begin());
    return call;
  }
  const int64_t status = json.integer(does).value_or(0);
  if (status != 429 && (status < 500 || status > 599)) {
    return std::nullopt;
  }
  call.does = Does::kStatus;
  call.status = static_cast<uint16_t>(status);
  return call;
}

}  // namespace

std::expected<Script, std::string> Script::parse(std::string_view text) {
  Script script;
  openrtb::Document json;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.empty()) {
      continue;
    }
    const auto call = call_of(json, line);
    if (!call || script.calls_.size() == kCalls) {
      return std::unexpected(
          "line " + std::to_string(number) +
          (call ? ": one call too many"
                : R"(: must be such as {"ms": 23.4, "does": "bid"}; does is bid, no_bid, hang, )"
                  "reset, garbage, 429 or 500 to 599"));
    }
    script.calls_.push_back(*call);
  }
  if (script.empty()) {
    return std::unexpected("holds no call");
  }
  return script;
}

}  // namespace spillway::workload
