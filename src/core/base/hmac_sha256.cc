#include "base/hmac_sha256.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spillway::base {

namespace {

using Words = std::array<uint32_t, 8>;

constexpr size_t kBlock = 64;

constexpr Words kInitial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

constexpr std::array<uint32_t, 64> kRound{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(std::string_view at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) {
    word = word << 8 | static_cast<unsigned char>(at[i]);
  }
  return word;
}

void compress(Words& state, std::string_view block) {
  std::array<uint32_t, 64> w{};
  for (size_t i = 0; i < 16; ++i) {
    w[i] = big_endian(block.substr(4 * i, 4));
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t first = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t second = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const Words added{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) {
    state[i] += added[i];
  }
}

/// The digest of what `state` has seen (`seen` bytes, whole blocks) and `bytes`.
Digest256 finish(Words state, size_t seen, std::string_view bytes) {
  const uint64_t bits = (uint64_t{seen} + bytes.size()) * 8;
  while (bytes.size() >= kBlock) {
    compress(state, bytes.substr(0, kBlock));
    bytes.remove_prefix(kBlock);
  }
  std::array<char, 2 * kBlock> tail{};
  std::ranges::copy(bytes, tail.begin());
  tail[bytes.size()] = static_cast<char>(0x80);
  const size_t size = bytes.size() + 9 > kBlock ? 2 * kBlock : kBlock;
  for (size_t i = 0; i < 8; ++i) {
    tail[size - 1 - i] = static_cast<char>(bits >> (8 * i));
  }
  for (size_t at = 0; at < size; at += kBlock) {
    compress(state, std::string_view(tail.data() + at, kBlock));
  }
  Digest256 digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

std::string_view text_of(const Digest256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Words after_pad(std::string_view key, uint8_t pad) {
  std::array<char, kBlock> block{};
  std::ranges::copy(key, block.begin());
  for (char& byte : block) {
    byte = static_cast<char>(static_cast<uint8_t>(byte) ^ pad);
  }
  Words state = kInitial;
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
