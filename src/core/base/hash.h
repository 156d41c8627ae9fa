#pragma once

#include <cstdint>
#include <string_view>

namespace spillway::base {

/// Bijective finalizer of 64 bits: every output bit depends on every input bit.
/// Source: Stafford's variant 13 of the MurmurHash3 finalizer.
[[nodiscard]] constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Hash of bytes, the same on every machine and in every release: decisions that must replay
/// (ties, ramp admission, shares of traffic) hang on it. Not for hash tables fed by attackers.
[[nodiscard]] constexpr uint64_t hash64(std::string_view bytes, uint64_t seed = 0) {
  uint64_t hash = seed ^ 0xcbf29ce484222325ULL;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  }
  return mix64(hash ^ bytes.size());
}

/// One hash of two.
[[nodiscard]] constexpr uint64_t combine64(uint64_t a, uint64_t b) {
  return mix64(a ^ mix64(b + 0x9e3779b97f4a7c15ULL));
}

/// A hash as a fraction of the hash space, in [0, 1): `unit(hash) < share` selects a share.
[[nodiscard]] constexpr double unit(uint64_t hash) {
  return static_cast<double>(hash >> 11) * 0x1.0p-53;
}

}  // namespace spillway::base
