#include "bidder/value_table.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace spillway::bidder {

namespace {

constexpr size_t kSlotsMin = 16;

}  // namespace

size_t NumberTable::slot_of(uint32_t key) const {
  const size_t mask = slots_.size() - 1;
  size_t at = base::mix64(key) & mask;
  while (slots_[at].index != kNoValue && slots_[at].key != key) {
    at = (at + 1) & mask;
  }
  return at;
}

void NumberTable::grow() {
  const std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(slots_.empty() ? kSlotsMin : slots_.size() * 2));
  for (const Slot& slot : old) {
    if (slot.index != kNoValue) {
      slots_[slot_of(slot.key)] = slot;
    }
  }
}

uint32_t NumberTable::insert(uint32_t key, uint32_t next) {
  if (2 * (size_ + 1) > slots_.size()) {
    grow();
  }
  Slot& slot = slots_[slot_of(key)];
  if (slot.index == kNoValue) {
    slot = {.key = key, .index = next};
    ++size_;
  }
  return slot.index;
}

uint32_t NumberTable::find(uint32_t key) const {
  return slots_.empty() ? kNoValue : slots_[slot_of(key)].index;
}

size_t ValueTable::slot_of(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].index != kNoValue &&
         (slots_[at].hash != hash ||
          std::string_view(bytes_).substr(slots_[at].begin, slots_[at].length) != text)) {
    at = (at + 1) & mask;
  }
  return at;
}

void ValueTable::grow() {
  const std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(slots_.empty() ? kSlotsMin : slots_.size() * 2));
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.index != kNoValue) {
      size_t at = slot.hash & mask;
      while (slots_[at].index != kNoValue) {
        at = (at + 1) & mask;
      }
      slots_[at] = slot;
    }
  }
}

uint32_t ValueTable::insert(std::string_view text) {
  if (uint32_t number = 0; parse_number(text, number)) {
    const uint32_t index = numbers_.insert(number, size_);
    size_ += index == size_ ? 1 : 0;
    return index;
  }
  if (2 * (texts_ + 1) > slots_.size()) {
    grow();
  }
  const uint64_t hash = base::hash64(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.index == kNoValue) {
    slot = {.hash = hash,
            .index = size_++,
            .begin = static_cast<uint32_t>(bytes_.size()),
            .length = static_cast<uint32_t>(text.size())};
    bytes_ += text;
    ++texts_;
  }
  return slot.index;
}

uint32_t ValueTable::find(std::string_view text) const {
  if (uint32_t number = 0; parse_number(text, number)) {
    return numbers_.find(number);
  }
  return slots_.empty() ? kNoValue : slots_[slot_of(text, base::hash64(text))].index;
}

bool parse_number(std::string_view text, uint32_t& out) {
  constexpr size_t kDigitsMax = 10;
  if (text.empty() || text.size() > kDigitsMax || (text[0] == '0' && text.size() > 1)) {
    return false;
  }
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && rest == text.data() + text.size();
}

}  // namespace spillway::bidder
