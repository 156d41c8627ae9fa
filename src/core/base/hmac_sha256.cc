#include "base/hmac_sha256.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/sha256_block.h"

namespace spillway::base {

namespace {

constexpr size_t kBlock = kSha256Block;

constexpr Sha256State kInitial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/// A number whose bytes in memory are in the order of the standard.
template <typename Number>
Number big_endian(Number number) {
  return std::endian::native == std::endian::big ? number : std::byteswap(number);
}

/// The digest of what `state` has seen (`seen` bytes, whole blocks) and `bytes`.
Digest256 finish(Sha256State state, size_t seen, std::string_view bytes) {
  const uint64_t bits = (uint64_t{seen} + bytes.size()) * 8;
  while (bytes.size() >= kBlock) {
    compress(state, bytes.substr(0, kBlock));
    bytes.remove_prefix(kBlock);
  }
  std::array<char, 2 * kBlock> tail{};
  bytes.copy(tail.data(), bytes.size());
  tail[bytes.size()] = static_cast<char>(0x80);
  const size_t size = bytes.size() + 9 > kBlock ? 2 * kBlock : kBlock;
  const uint64_t bits_as_sent = big_endian(bits);
  std::memcpy(tail.data() + size - sizeof(bits_as_sent), &bits_as_sent, sizeof(bits_as_sent));
  for (size_t at = 0; at < size; at += kBlock) {
    compress(state, std::string_view(tail.data() + at, kBlock));
  }
  for (uint32_t& word : state) {
    word = big_endian(word);
  }
  return std::bit_cast<Digest256>(state);
}

std::string_view text_of(const Digest256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Sha256State after_pad(std::string_view key, uint8_t pad) {
  std::array<char, kBlock> block{};
  std::ranges::copy(key, block.begin());
  for (char& byte : block) {
    byte = static_cast<char>(static_cast<uint8_t>(byte) ^ pad);
  }
  Sha256State state = kInitial;
  compress(state, std::string_view(block.data(), block.size()));
  return state;
}

}  // namespace

Digest256 sha256(std::string_view bytes) { return finish(kInitial, 0, bytes); }

HmacSha256::HmacSha256(std::string_view key) {
  const Digest256 hashed = sha256(key);
  if (key.size() > kBlock) {
    key = text_of(hashed);
  }
  inner_ = after_pad(key, 0x36);
  outer_ = after_pad(key, 0x5c);
}

Digest256 HmacSha256::sign(std::string_view message) const {
  const Digest256 inner = finish(inner_, kBlock, message);
  return finish(outer_, kBlock, text_of(inner));
}

bool same_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  unsigned differing = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    differing |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return differing == 0;
}

}  // namespace spillway::base
