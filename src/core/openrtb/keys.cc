#include "openrtb/keys.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace spillway::openrtb {

namespace {

constexpr size_t kKeys = static_cast<size_t>(Key::kCount);
constexpr size_t kBuckets = 128;
constexpr size_t kSlots = 1024;
constexpr size_t kLongest = 16;

constexpr std::array<std::string_view, kKeys> kNames{"", "",
#define SPILLWAY_KEY(name) #name,
                                                     SPILLWAY_OPENRTB_KEYS(SPILLWAY_KEY)
#undef SPILLWAY_KEY
};

template <typename Word>
constexpr Word load(const char* from) {
  Word word = 0;
  if (std::is_constant_evaluated()) {
    for (size_t i = 0; i < sizeof(Word); ++i) {
      word |= static_cast<Word>(static_cast<unsigned char>(from[i])) << (8 * i);
    }
  } else {
    std::memcpy(&word, from, sizeof(Word));
  }
  return word;
}

static_assert(std::endian::native == std::endian::little);

/// A name of 1 to 16 bytes, whole, in two words and its length: comparing two of them compares the
/// names, without a loop over bytes.
struct Packed {
  uint64_t head = 0;
  uint64_t tail = 0;
  size_t length = 0;

  constexpr bool operator==(const Packed&) const = default;
};

constexpr Packed pack(std::string_view name) {
  const size_t n = name.size();
  const char* const p = name.data();
  if (n >= 8) {
    return {.head = load<uint64_t>(p), .tail = load<uint64_t>(p + n - 8), .length = n};
  }
  if (n >= 4) {
    return {.head = load<uint32_t>(p), .tail = load<uint32_t>(p + n - 4), .length = n};
  }
  const auto at = [p](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(p[i])); };
  return {.head = at(0) | at(n / 2) << 8, .tail = at(n - 1), .length = n};
}

constexpr uint64_t hash(const Packed& name) {
  const uint64_t mixed = (name.head ^ (name.length << 56)) * 0x9e3779b97f4a7c15ULL +
                         std::rotl(name.tail, 23) * 0xc2b2ae3d27d4eb4fULL;
  return mixed ^ (mixed >> 29) ^ (mixed >> 43);
}

/// Perfect hash by displacement: a bucket's shift moves all of its names to free slots. Found by
/// the compiler, so a new name in the list needs nothing else.
struct Table {
  std::array<uint16_t, kBuckets> shift{};
  std::array<uint16_t, kSlots> slot{};
  std::array<Packed, kKeys> packed{};
  bool complete = true;
};

constexpr size_t bucket_of(uint64_t hash) { return hash % kBuckets; }

constexpr size_t slot_of(uint64_t hash, uint64_t shift) {
  return ((hash >> 7) + shift * ((hash >> 20) | 1)) % kSlots;
}

constexpr bool place(Table& table, const std::array<uint64_t, kKeys>& hashes, size_t bucket,
                     uint16_t shift) {
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
  for (size_t key = 2; key < kKeys; ++key) {
    table.packed[key] = pack(kNames[key]);
    hashes[key] = hash(table.packed[key]);
  }
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    uint16_t shift = 0;
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
    if (name.size() > kLongest) {
      return false;
    }
  }
  return true;
}

static_assert(names_fit());

}  // namespace

Key key_of(std::string_view name) {
  if (name.empty() || name.size() > kLongest) {
    return Key::kOther;
  }
  const Packed packed = pack(name);
  const uint64_t hashed = hash(packed);
  const size_t key = kTable.slot[slot_of(hashed, kTable.shift[bucket_of(hashed)])];
  return key != 0 && kTable.packed[key] == packed ? static_cast<Key>(key) : Key::kOther;
}

std::string_view name_of(Key key) {
  return key < Key::kCount ? kNames[static_cast<size_t>(key)] : std::string_view{};
}

}  // namespace spillway::openrtb
