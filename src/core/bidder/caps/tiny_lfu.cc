#include "bidder/caps/tiny_lfu.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "base/hash.h"

namespace spillway::bidder::caps {

namespace {

constexpr uint64_t kLowBits = 0x1111111111111111ULL;
constexpr uint64_t kHalves = 0x7777777777777777ULL;

}  // namespace

FrequencySketch::FrequencySketch(size_t keys)
    : words_(std::bit_ceil(std::max<size_t>(keys, 8))), sample_(10 * std::max<size_t>(keys, 8)) {}

FrequencySketch::Place FrequencySketch::place(uint64_t key, size_t row) const {
  const uint64_t hash = base::combine64(key, row);
  return {.word = static_cast<size_t>(hash) & (words_.size() - 1),
          .shift = static_cast<unsigned>(hash >> 60) * 4};
}

void FrequencySketch::add(uint64_t key) {
  bool added = false;
  for (size_t row = 0; row < kRows; ++row) {
    const Place at = place(key, row);
    if ((words_[at.word] >> at.shift & 15) < 15) {
      words_[at.word] += uint64_t{1} << at.shift;
      added = true;
    }
  }
  if (added && ++additions_ >= sample_) {
    halve();
  }
}

uint32_t FrequencySketch::estimate(uint64_t key) const {
  uint32_t least = 15;
  for (size_t row = 0; row < kRows; ++row) {
    const Place at = place(key, row);
    least = std::min(least, static_cast<uint32_t>(words_[at.word] >> at.shift & 15));
  }
  return least;
}

void FrequencySketch::halve() {
  uint64_t odd = 0;
  for (uint64_t& word : words_) {
    odd += static_cast<uint64_t>(std::popcount(word & kLowBits));
    word = word >> 1 & kHalves;
  }
  additions_ = (additions_ - std::min(additions_, odd / kRows)) / 2;
}

TinyLfu::TinyLfu(uint32_t slots)
    : nodes_(slots),
      heads_(std::bit_ceil(size_t{slots}), kNone),
      sketch_(slots),
      window_most_(std::max<uint32_t>(1, slots / 100)),
      main_most_(slots - window_most_) {
  SPILLWAY_ASSERT(slots >= 4);
  for (uint32_t i = slots; i-- > 0;) {
    push(kFree, i);
  }
}

uint64_t TinyLfu::bytes() const {
  return nodes_.size() * sizeof(Node) + heads_.size() * sizeof(uint32_t) + sketch_.bytes();
}

void TinyLfu::push(Part part, uint32_t slot) {
  List& list = lists_[part];
  Node& node = nodes_[slot];
  node.part = part;
  node.previous = kNone;
  node.next = list.newest;
  (list.newest != kNone ? nodes_[list.newest].previous : list.oldest) = slot;
  list.newest = slot;
  ++list.size;
}

void TinyLfu::unlink(uint32_t slot) {
  const Node& node = nodes_[slot];
  List& list = lists_[node.part];
  (node.previous != kNone ? nodes_[node.previous].next : list.newest) = node.next;
  (node.next != kNone ? nodes_[node.next].previous : list.oldest) = node.previous;
  --list.size;
}

void TinyLfu::move_to(Part part, uint32_t slot) {
  unlink(slot);
  push(part, slot);
}

void TinyLfu::touch(uint32_t slot) {
  const Part part = nodes_[slot].part;
  if (part == kProbation) {
    move_to(kProtected, slot);
    if (lists_[kProtected].size > main_most_ - main_most_ / 5) {
      move_to(kProbation, lists_[kProtected].oldest);
    }
  } else {
    move_to(part, slot);
  }
}

uint32_t TinyLfu::peek(uint64_t key) const {
  uint32_t slot = heads_[head_of(key)];
  while (slot != kNone && nodes_[slot].key != key) {
    slot = nodes_[slot].chain;
  }
  return slot;
}

uint32_t TinyLfu::ask(uint64_t key) {
  sketch_.add(key);
  const uint32_t slot = peek(key);
  if (slot != kNone) {
    touch(slot);
  }
  return slot;
}

void TinyLfu::forget(uint32_t slot) {
  uint32_t* link = &heads_[head_of(nodes_[slot].key)];
  while (*link != slot) {
    link = &nodes_[*link].chain;
  }
  *link = nodes_[slot].chain;
  move_to(kFree, slot);
  --used_;
}

bool TinyLfu::make_room() {
  const uint32_t candidate = lists_[kWindow].oldest;
  const uint32_t victim =
      lists_[kProbation].size > 0 ? lists_[kProbation].oldest : lists_[kProtected].oldest;
  if (sketch_.estimate(nodes_[candidate].key) > sketch_.estimate(nodes_[victim].key)) {
    forget(victim);
    move_to(kProbation, candidate);
    return false;
  }
  forget(candidate);
  return true;
}

TinyLfu::Insertion TinyLfu::insert(uint64_t key) {
  Insertion done;
  if (lists_[kWindow].size >= window_most_) {
    if (lists_[kProbation].size + lists_[kProtected].size < main_most_) {
      move_to(kProbation, lists_[kWindow].oldest);
    } else {
      done.evicted = true;
      done.rejected = make_room();
    }
  }
  const uint32_t slot = lists_[kFree].newest;
  nodes_[slot].key = key;
  uint32_t& head = heads_[head_of(key)];
  nodes_[slot].chain = head;
  head = slot;
  move_to(kWindow, slot);
  ++used_;
  done.slot = slot;
  return done;
}

}  // namespace spillway::bidder::caps
