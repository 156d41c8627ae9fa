#include "openrtb/keys.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace spillway::openrtb {

namespace {

constexpr size_t kKeys = static_cast<size_t>(Key::kCount);
constexpr size_t kBuckets = 128;
constexpr size_t kSlots = 1024;

constexpr std::array<std::string_view, kKeys> kNames{"", "",
#define SPILLWAY_KEY(name) #name,
                                                     SPILLWAY_OPENRTB_KEYS(SPILLWAY_KEY)
#undef SPILLWAY_KEY
};

static_assert(std::endian::native == std::endian::little);

/// A name of at most 15 bytes in two words: filled up with zeros, the last byte its length.
/// Comparing two of them compares the names, without a loop over bytes.
struct Packed {
  uint64_t head = 0;
  uint64_t tail = 0;
};

constexpr Packed pack(std::string_view name) {
  Packed packed{.tail = static_cast<uint64_t>(name.size()) << 56};
  for (size_t i = 0; i < name.size(); ++i) {
    uint64_t& word = i < 8 ? packed.head : packed.tail;
    word |= static_cast<uint64_t>(static_cast<unsigned char>(name[i])) << (8 * (i % 8));
  }
  return packed;
}

/// The bytes of both words that belong to a name of each length.
constexpr auto kMasks = [] {
  std::array<Packed, kLongestKey + 1> masks{};
  for (size_t length = 0; length < masks.size(); ++length) {
    for (size_t i = 0; i < length; ++i) {
      (i < 8 ? masks[length].head : masks[length].tail) |= uint64_t{0xff} << (8 * (i % 8));
    }
  }
  return masks;
}();

/// The same where 16 bytes are readable, whatever the length.
inline Packed pack_readable(const char* name, size_t length) {
  uint64_t head = 0;
  uint64_t tail = 0;
  std::memcpy(&head, name, sizeof(head));
  std::memcpy(&tail, name + sizeof(head), sizeof(tail));
  return {.head = head & kMasks[length].head,
          .tail = (tail & kMasks[length].tail) | static_cast<uint64_t>(length) << 56};
}

constexpr uint64_t hash(Packed name) {
  const uint64_t mixed = (name.head ^ std::rotl(name.tail, 23)) * 0x9e3779b97f4a7c15ULL;
  return mixed ^ (mixed >> 32);
}

/// Perfect hash by displacement: a bucket's shift moves all of its names to free slots. Found by
/// the compiler, so a new name in the list needs nothing else.
struct Table {
  std::array<uint8_t, kBuckets> shift{};
  std::array<uint16_t, kSlots> slot{};
  std::array<Packed, kKeys> packed{};
  bool complete = true;
};

constexpr size_t bucket_of(uint64_t hash) { return hash % kBuckets; }

constexpr size_t slot_of(uint64_t hash, uint64_t shift) {
  return ((hash >> 7) ^ (shift << 2)) % kSlots;
}

constexpr bool place(Table& table, const std::array<uint64_t, kKeys>& hashes, size_t bucket,
                     uint8_t shift) {
  std::array<size_t, kKeys> taken{};
  size_t count = 0;
  for (size_t key = 2; key < kKeys; ++key) {
    if (bucket_of(hashes[key]) != bucket) {
      continue;
    }
    const size_t slot = slot_of(hashes[key], shift);
    if (table.slot[slot] != 0) {
      for (size_t i = 0; i < count; ++i) {
        table.slot[taken[i]] = 0;
      }
      return false;
    }
    table.slot[slot] = static_cast<uint16_t>(key);
    taken[count++] = slot;
  }
  table.shift[bucket] = shift;
  return true;
}

constexpr Table build() {
  Table table;
  std::array<uint64_t, kKeys> hashes{};
  table.packed[0].tail = ~uint64_t{0};  // An empty slot's: equal to no name.
  for (size_t key = 2; key < kKeys; ++key) {
    table.packed[key] = pack(kNames[key]);
    hashes[key] = hash(table.packed[key]);
  }
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    uint8_t shift = 0;
    while (shift < 64 && !place(table, hashes, bucket, shift)) {
      ++shift;
    }
    table.complete = table.complete && shift < 64;
  }
  return table;
}

constexpr Table kTable = build();
static_assert(kTable.complete, "two names hash alike: change a constant in hash()");

constexpr bool names_fit() {
  for (const std::string_view name : kNames) {
    if (name.size() > kLongestKey) {
      return false;
    }
  }
  return true;
}

static_assert(names_fit());

inline Key look_up(Packed packed) {
  const uint64_t hashed = hash(packed);
  const size_t key = kTable.slot[slot_of(hashed, kTable.shift[bucket_of(hashed)])];
  const Packed& found = kTable.packed[key];
  const bool same = ((found.head ^ packed.head) | (found.tail ^ packed.tail)) == 0;
  return same ? static_cast<Key>(key) : Key::kOther;
}

}  // namespace

Key key_of_readable(const char* name, size_t length) {
  return length > kLongestKey ? Key::kOther : look_up(pack_readable(name, length));
}

Key key_of(std::string_view name) {
  return name.size() > kLongestKey ? Key::kOther : look_up(pack(name));
}

std::string_view name_of(Key key) {
  return key < Key::kCount ? kNames[static_cast<size_t>(key)] : std::string_view{};
}

}  // namespace spillway::openrtb
