#include "resilience/slots.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "resilience/proof.h"

namespace spillway::resilience {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;

}  // namespace

void Slots::add_to_rest(int64_t slots) {
  int64_t rest = rest_.load(kRelaxed);
  while (!rest_.compare_exchange_weak(rest, rest + slots)) {
  }
}

/// Moves what lies unused in the hand to the rest. False: nothing did.
bool Slots::collect(Hand& hand) {
  int64_t slots = 0;
  // Read before `returned`: a count read too early can only be too small.
  uint64_t collected = hand.collected.load(kAcquire);
  uint64_t returned = hand.returned.load(kAcquire);
  while (static_cast<int64_t>(returned - collected) > 0) {
    if (hand.collected.compare_exchange_weak(collected, returned)) {
      slots = static_cast<int64_t>(returned - collected);
      break;
    }
  }
  int64_t credit = hand.credit.load(kRelaxed);
  while (credit > 0) {
    if (hand.credit.compare_exchange_weak(credit, 0)) {
      slots += credit;
      break;
    }
  }
  if (slots > 0) {
    add_to_rest(slots);
  }
  return slots > 0;
}

/// One slot from the rest for a call, and with it a batch of credits; `deal` was read before.
bool Slots::draw(Hand& hand, uint64_t deal) {
  int64_t rest = rest_.load(kAcquire);
  while (rest > 0) {
    // Half of it at most: the last slots are for whoever comes.
    const int64_t batch = std::clamp<int64_t>(rest / 2, 1, std::max(batch_of(deal), 1U));
    if (!rest_.compare_exchange_weak(rest, rest - batch)) {
      continue;
    }
    if (batch > 1) {
      int64_t credit = hand.credit.load(kRelaxed);
      while (!hand.credit.compare_exchange_weak(credit,
                                                credit + batch - (SPILLWAY_PLANTED(11) ? 0 : 1))) {
      }
      // A lowered limit may have looked into this hand before the batch came into it.
      if (deal_.load() != deal) {
        collect(hand);
      }
    }
    return true;
  }
  return false;
}

bool Slots::borrow(Hand& hand) {
  const uint64_t deal = deal_.load();
  collect(hand);
  if (draw(hand, deal)) {
    return true;
  }
  bool found = false;
  for (Hand& other : hands_) {
    found = collect(other) || found;
  }
  return found && draw(hand, deal);
}

void Slots::publish_deal(uint32_t batch) {
  const uint64_t deal = deal_.load(kRelaxed);
  if (batch_of(deal) != batch) {
    deal_.store((((deal >> 32) + 1) << 32) | batch);
  }
}

void Slots::set_limit(uint32_t limit) {
  const bool lowered = limit < limit_;
  if (lowered) {
    publish_deal(0);
  }
  add_to_rest(static_cast<int64_t>(limit) - static_cast<int64_t>(limit_));
  limit_ = limit;
  deal(lowered);
}

/// Deals if the limit is large enough and there is no debt.
void Slots::deal(bool empty_hands) {
  const auto workers = static_cast<uint32_t>(hands_.size());
  const bool large = limit_ / kDealtFrom >= workers;
  if (empty_hands || !large || rest_.load(kAcquire) < 0) {
    for (Hand& hand : hands_) {
      collect(hand);
    }
  }
  const bool dealt = large && rest_.load(kAcquire) >= 0;
  publish_deal(dealt ? limit_ / (kBatchesEach * workers) : 0);
}

void Slots::settle() {
  deal(false);
  const int64_t all = held();
  for (Hand& hand : hands_) {
    hand.held_by_others.store(all - static_cast<int64_t>(hand.held.value()), kRelaxed);
  }
}

int64_t Slots::held() const {
  int64_t sum = 0;
  for (const Hand& hand : hands_) {
    sum += static_cast<int64_t>(hand.held.value());
  }
  return sum;
}

}  // namespace spillway::resilience
