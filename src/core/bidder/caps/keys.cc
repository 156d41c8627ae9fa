#include "bidder/caps/keys.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/hmac_sha256.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "bidder/model.h"

namespace spillway::bidder::caps {

namespace {

/// "<prefix>:{<32 hex>}" and room for what follows.
std::string key_of(std::string_view prefix, const UserHash& user) {
  const std::array<char, 32> hex = user.text();
  std::string key;
  key.reserve(prefix.size() + 3 + 2 * hex.size() + 1);
  key.append(prefix).append(":{").append(hex.data(), hex.size()).append("}");
  return key;
}

void append_part(std::string& text, std::string_view part) {
  text += std::to_string(part.size());
  text += ':';
  text += part;
}

}  // namespace

std::array<uint64_t, 2> hash_impression(const Impression& impression) {
  std::string text;
  text.reserve(impression.exchange.size() + impression.auction.size() + impression.imp.size() + 32);
  append_part(text, impression.exchange);
  append_part(text, impression.auction);
  append_part(text, impression.imp);
  const base::Digest256 digest = base::sha256(text);
  std::array<uint64_t, 2> hash{};
  for (size_t i = 0; i < 16; ++i) {
    hash[i / 8] = hash[i / 8] << 8 | digest[i];
  }
  return hash;
}

std::string caps_key(const UserHash& user) { return key_of("caps", user); }

std::string segments_key(const UserHash& user) { return key_of("seg", user); }

std::string won_key(const UserHash& user, const Impression& impression) {
  const std::array<uint64_t, 2> hash = hash_impression(impression);
  const std::array<char, 32> hex = UserHash{.high = hash[0], .low = hash[1]}.text();
  std::string key = key_of("won", user);
  key.append(":").append(hex.data(), hex.size());
  return key;
}

CapField cap_field(const CapKey& key) {
  constexpr std::string_view kScopes = "cra";
  constexpr std::string_view kWindows = "hdwl";
  constexpr std::string_view kSlidingWindows = "HDWl";  // Lifetime does not slide.
  CapField field;
  char* const begin = field.text.data();
  begin[0] = kScopes[static_cast<size_t>(key.scope)];
  char* end = std::to_chars(begin + 1, begin + field.text.size() - 2, key.id).ptr;
  *end++ = '.';
  *end++ =
      (key.kind == CapKind::kSliding ? kSlidingWindows : kWindows)[static_cast<size_t>(key.window)];
  field.size = static_cast<uint8_t>(end - begin);
  return field;
}

void read_command(const UserHash& user, std::span<const CapKey> keys, Command& into) {
  into.resize(2 + keys.size());
  into[0] = "HMGET";
  into[1] = caps_key(user);
  for (size_t i = 0; i < keys.size(); ++i) {
    into[2 + i] = cap_field(keys[i]).view();
  }
}

Command win_command(const UserHash& user, const Impression& impression,
                    std::span<const CapKey> keys, int64_t unix_s, int64_t dedup_s, bool with_text) {
  Command command;
  command.reserve(8 + 3 * keys.size());
  command.emplace_back(with_text ? "EVAL" : "EVALSHA");
  command.emplace_back(with_text ? win_script() : win_script_sha1());
  command.emplace_back("2");
  command.push_back(won_key(user, impression));
  command.push_back(caps_key(user));
  command.push_back(std::to_string(dedup_s));
  command.push_back(std::to_string(unix_s));
  int64_t kept = 0;
  for (const CapKey& key : keys) {
    kept = std::max(kept, kept_s(key));
  }
  command.push_back(std::to_string(kept));
  for (const CapKey& key : keys) {
    command.emplace_back(cap_field(key).view());
    command.push_back(std::to_string(bucket_at(key, unix_s)));
    command.push_back(std::to_string(buckets_of(key)));
  }
  return command;
}

}  // namespace spillway::bidder::caps
