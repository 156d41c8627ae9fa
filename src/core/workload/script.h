#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace spillway::workload {

/// What a partner did with one call, as somebody recorded it.
struct ScriptedCall {
  enum class Does : uint8_t { kBid, kNoBid, kHang, kReset, kGarbage, kStatus };
  base::Duration delay{};  ///< [0, 60 s].
  Does does = Does::kBid;
  uint16_t status = 503;  ///< kStatus: 429, or 500 to 599.
};

/// A partner's calls one after the other, from text: a JSON object a line,
///
///   {"ms": 23.4, "does": "bid"}
///
/// where `does` is bid, no_bid, hang, reset, garbage, or a status as a number. Empty lines are
/// skipped. Memory: 16 bytes a call, at most kCalls.
class Script {
 public:
  static constexpr size_t kCalls = 1'000'000;

  Script() = default;

  /// The script, or what is wrong and in which line: "line 3: …".
  [[nodiscard]] static std::expected<Script, std::string> parse(std::string_view text);

  [[nodiscard]] bool empty() const { return calls_.empty(); }

  [[nodiscard]] size_t size() const { return calls_.size(); }

  /// The next call; after the last comes the first. Not of an empty script.
  const ScriptedCall& next() { return calls_[at_++ % calls_.size()]; }

 private:
  std::vector<ScriptedCall> calls_;
  size_t at_ = 0;
};

}  // namespace spillway::workload
