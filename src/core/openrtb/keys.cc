#include "openrtb/keys.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "openrtb/key_table.h"

namespace spillway::openrtb {

namespace key_table {

namespace {

constexpr std::array<std::string_view, kKeys> kNames{"", "",
#define SPILLWAY_KEY(name) #name,
                                                     SPILLWAY_OPENRTB_KEYS(SPILLWAY_KEY)
#undef SPILLWAY_KEY
};

constexpr Packed pack(std::string_view name) {
  Packed packed{.tail = static_cast<uint64_t>(name.size()) << 56};
  for (size_t i = 0; i < name.size(); ++i) {
    uint64_t& word = i < 8 ? packed.head : packed.tail;
    word |= static_cast<uint64_t>(static_cast<unsigned char>(name[i])) << (8 * (i % 8));
  }
  return packed;
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

constexpr bool names_fit() {
  for (const std::string_view name : kNames) {
    if (name.size() > kLongestKey) {
      return false;
    }
  }
  return true;
}

static_assert(names_fit());

}  // namespace

constexpr Table kTable = build();
static_assert(kTable.complete, "two names hash alike: change a constant in hash()");

}  // namespace key_table

Key key_of(std::string_view name) {
  return name.size() > kLongestKey ? Key::kOther : key_table::look_up(key_table::pack(name));
}

std::string_view name_of(Key key) {
  return key < Key::kCount ? key_table::kNames[static_cast<size_t>(key)] : std::string_view{};
}

}  // namespace spillway::openrtb
