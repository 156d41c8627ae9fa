#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "openrtb/keys.h"

// How keys.cc finds a name's number, for the walk, which does it for every member: nothing is
// called. Everybody else takes keys.h.
namespace spillway::openrtb::key_table {

inline constexpr size_t kKeys = static_cast<size_t>(Key::kCount);
inline constexpr size_t kBuckets = 128;
inline constexpr size_t kSlots = 1024;

static_assert(std::endian::native == std::endian::little);

/// A name of at most 15 bytes in two words: filled up with zeros, the last byte its length.
/// Comparing two of them compares the names, without a loop over bytes.
struct Packed {
  uint64_t head = 0;
  uint64_t tail = 0;
};

/// Perfect hash by displacement: a bucket's shift moves all of its names to free slots. Found by
/// the compiler, so a new name in the list needs nothing else.
struct Table {
  std::array<uint8_t, kBuckets> shift{};
  std::array<uint16_t, kSlots> slot{};
  std::array<Packed, kKeys> packed{};
  bool complete = true;
};

extern const Table kTable;  // NOLINT(readability-identifier-naming): a constant

/// The bytes of both words that belong to a name of each length.
inline constexpr auto kMasks = [] {
  std::array<Packed, kLongestKey + 1> masks{};
  for (size_t length = 0; length < masks.size(); ++length) {
    for (size_t i = 0; i < length; ++i) {
      (i < 8 ? masks[length].head : masks[length].tail) |= uint64_t{0xff} << (8 * (i % 8));
    }
  }
  return masks;
}();

constexpr uint64_t hash(Packed name) {
  const uint64_t mixed = (name.head ^ std::rotl(name.tail, 23)) * 0x9e3779b97f4a7c15ULL;
  return mixed ^ (mixed >> 32);
}

constexpr size_t bucket_of(uint64_t hash) { return hash % kBuckets; }

constexpr size_t slot_of(uint64_t hash, uint64_t shift) {
  return ((hash >> 7) ^ (shift << 2)) % kSlots;
}

inline Key look_up(Packed packed) {
  const uint64_t hashed = hash(packed);
  const size_t key = kTable.slot[slot_of(hashed, kTable.shift[bucket_of(hashed)])];
  const Packed& found = kTable.packed[key];
  const bool same = ((found.head ^ packed.head) | (found.tail ^ packed.tail)) == 0;
  return same ? static_cast<Key>(key) : Key::kOther;
}

/// The number of a name behind whose beginning 16 bytes are readable.
inline Key find_readable(const char* name, size_t length) {
  if (length > kLongestKey) {
    return Key::kOther;
  }
  Packed packed;
  std::memcpy(&packed.head, name, sizeof(packed.head));
  std::memcpy(&packed.tail, name + sizeof(packed.head), sizeof(packed.tail));
  packed.head &= kMasks[length].head;
  packed.tail = (packed.tail & kMasks[length].tail) | static_cast<uint64_t>(length) << 56;
  return look_up(packed);
}

}  // namespace spillway::openrtb::key_table
