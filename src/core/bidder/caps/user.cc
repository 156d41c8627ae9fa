#include "bidder/caps/user.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/hmac_sha256.h"

namespace spillway::bidder::caps {

namespace {

uint64_t big_endian(const uint8_t* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) {
    value = value << 8 | bytes[i];
  }
  return value;
}

void write_hex(uint64_t value, char* out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (size_t i = 0; i < 16; ++i) {
    out[i] = kDigits[value >> (60 - 4 * i) & 15];
  }
}

bool read_hex(std::string_view text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::array<char, 32> UserHash::text() const {
  std::array<char, 32> out{};
  write_hex(high, out.data());
  write_hex(low, out.data() + 16);
  return out;
}

std::optional<UserHash> hash_user(std::string_view source, std::string_view id) {
  if (id.empty()) {
    return std::nullopt;
  }
  // The length of the first part says where the second begins. Usual ids stay on the stack.
  std::array<char, 256> room{};
  std::string longer;
  char* into = room.data();
  const size_t size = 8 + source.size() + id.size();
  if (size > room.size()) {
    longer.resize(size);
    into = longer.data();
  }
  for (size_t i = 0; i < 8; ++i) {
    into[i] = static_cast<char>(static_cast<uint64_t>(source.size()) >> (8 * i) & 255);
  }
  std::memcpy(into + 8, source.data(), source.size());
  std::memcpy(into + 8 + source.size(), id.data(), id.size());
  const base::Digest256 digest = base::sha256({into, size});
  return UserHash{.high = big_endian(digest.data()), .low = big_endian(digest.data() + 8)};
}

std::optional<UserHash> parse_user(std::string_view text) {
  UserHash user;
  if (text.size() != 32 || !read_hex(text.substr(0, 16), user.high) ||
      !read_hex(text.substr(16), user.low)) {
    return std::nullopt;
  }
  return user;
}

}  // namespace spillway::bidder::caps
