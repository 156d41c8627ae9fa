#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bidder/caps/user.h"
#include "bidder/caps/window.h"

namespace spillway::bidder::caps {

// The storage contract with Redis: docs/redis_keys.md. All keys of one user carry one hash tag, so
// that they live in one slot of a cluster.

/// "caps:{<32 hex>}": a hash, one field a counter (cap_field), value CapCounts as text.
[[nodiscard]] std::string caps_key(const UserHash& user);

/// "seg:{<32 hex>}": segment ids as text, one a line; absent: no such user.
[[nodiscard]] std::string segments_key(const UserHash& user);

/// What makes an impression one: of which exchange, auction, imp. Texts of any length and content.
struct Impression {
  std::string_view exchange;
  std::string_view auction;
  std::string_view imp;
};

/// 128 bits of SHA-256 over the lengths and texts.
[[nodiscard]] std::array<uint64_t, 2> hash_impression(const Impression& impression);

/// "won:{<32 hex>}:<32 hex>": exists while a repeated notice is recognised. The second part is a
/// hash over the lengths and texts of `impression`: no two impressions share one for want of a
/// separator.
[[nodiscard]] std::string won_key(const UserHash& user, const Impression& impression);

/// "c123.d": scope (c campaign, r creative, a advertiser), id, window (h d w l), upper case when it
/// slides. Length at most 24.
struct CapField {
  std::array<char, 24> text{};
  uint8_t size = 0;

  [[nodiscard]] std::string_view view() const { return {text.data(), size}; }
};

[[nodiscard]] CapField cap_field(const CapKey& key);

/// A command's parts: owned text.
using Command = std::vector<std::string>;

/// HMGET over all counters of a request: one round trip whatever the number of imps. Reuses
/// `into`'s memory.
void read_command(const UserHash& user, std::span<const CapKey> keys, Command& into);

/// The win of one impression: recognises a repetition and counts in one atomic step, so it may be
/// sent again after a timeout: never lost, never counted twice while `won_key` lives. EVALSHA of
/// win_script(); with `with_text` EVAL and the script itself, for NOSCRIPT. Answer: 1 counted, 0
/// known already.
[[nodiscard]] Command win_command(const UserHash& user, const Impression& impression,
                                  std::span<const CapKey> keys, int64_t unix_s, int64_t dedup_s,
                                  bool with_text = false);

/// The Lua text, and its SHA-1 in hexadecimal.
[[nodiscard]] std::string_view win_script();
[[nodiscard]] std::string_view win_script_sha1();

}  // namespace spillway::bidder::caps
