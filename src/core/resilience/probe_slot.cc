#include "resilience/probe_slot.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>

#include "base/assert.h"
#include "base/time.h"
#include "resilience/outcome.h"
#include "resilience/proof.h"

namespace spillway::resilience {

namespace {

constexpr uint32_t kLeaseMask = (1U << 28) - 1;
constexpr uint32_t kClosedRule = 0;

/// The word, unpacked. Bits: epoch 16, says 2, sent 1, settled 1, count 4, history 8, lease 28.
struct Slot {
  uint32_t epoch = 0;
  ProbeRound::Says says = ProbeRound::Says::kUndecided;
  bool sent = false;
  bool settled = false;
  uint32_t count = 0;    ///< Results in history, at most 8.
  uint32_t history = 0;  ///< Bit 0 the newest; 1 is good.
  uint32_t lease = 0;    ///< When it runs out, in ms since birth modulo 2^28; 0 when free.

  static Slot of(uint64_t bits) {
    return Slot{.epoch = static_cast<uint32_t>(bits >> 48),
                .says = static_cast<ProbeRound::Says>((bits >> 46) & 3),
                .sent = ((bits >> 45) & 1) != 0,
                .settled = ((bits >> 44) & 1) != 0,
                .count = static_cast<uint32_t>(bits >> 40) & 15,
                .history = static_cast<uint32_t>(bits >> 32) & 255,
                .lease = static_cast<uint32_t>(bits) & kLeaseMask};
  }

  [[nodiscard]] uint64_t bits() const {
    return (static_cast<uint64_t>(epoch & 0xffff) << 48) | (static_cast<uint64_t>(says) << 46) |
           (static_cast<uint64_t>(sent) << 45) | (static_cast<uint64_t>(settled) << 44) |
           (static_cast<uint64_t>(count) << 40) | (static_cast<uint64_t>(history) << 32) | lease;
  }
};

/// Whether `at` is `than` or later, on the circle of 2^28 ms.
bool at_or_after(uint32_t at, uint32_t than) {
  return ((at - than) & kLeaseMask) < (kLeaseMask / 2);
}

}  // namespace

void ProbeSlot::arm(uint32_t epoch, uint32_t good, uint32_t of, uint32_t bad) {
  SPILLWAY_ASSERT(good >= 1 && bad >= 1 && good <= of && bad <= of && of <= 8);
  // Fenced first: nothing may be taken under a half-set rule.
  word_.store(Slot{.epoch = epoch, .says = ProbeRound::Says::kBad}.bits());
  rule_.store((good << 16) | (of << 8) | bad);
  word_.store(Slot{.epoch = epoch}.bits());
}

void ProbeSlot::arm_count(uint32_t epoch, uint32_t count) {
  SPILLWAY_ASSERT(count >= 1 && count <= 15);
  word_.store(Slot{.epoch = epoch, .says = ProbeRound::Says::kBad}.bits());
  rule_.store(count << 8);
  word_.store(Slot{.epoch = epoch}.bits());
}

void ProbeSlot::disarm(uint32_t epoch) {
  word_.store(Slot{.epoch = epoch, .says = ProbeRound::Says::kBad}.bits());
  rule_.store(kClosedRule);
}

void ProbeSlot::rearm() {
  uint64_t bits = word_.load();
  while (true) {
    Slot slot = Slot::of(bits);
    slot.sent = slot.lease != 0;
    slot.settled = false;
    if (word_.compare_exchange_weak(bits, slot.bits())) {
      return;
    }
  }
}

uint32_t ProbeSlot::ms_of(base::Instant at) const {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(at - born_).count();
  return static_cast<uint32_t>(ms) & kLeaseMask;
}

uint32_t ProbeSlot::take(uint32_t epoch, base::Instant now, base::Duration lease) {
  uint64_t bits = word_.load();
  while (true) {
    Slot slot = Slot::of(bits);
    const bool held = slot.lease != 0 && !at_or_after(ms_of(now), slot.lease);
    const bool busy = held && !SPILLWAY_PLANTED(1);
    if (slot.epoch != (epoch & 0xffff) || slot.says != ProbeRound::Says::kUndecided || busy) {
      return 0;
    }
    slot.lease = std::max(ms_of(now + lease), 1U);
    slot.sent = true;
    if (word_.compare_exchange_weak(bits, slot.bits())) {
      return slot.lease;
    }
  }
}

void ProbeSlot::settle(uint32_t epoch, uint32_t lease, Verdict verdict) {
  uint64_t bits = word_.load();
  while (true) {
    Slot slot = Slot::of(bits);
    if (slot.epoch != (epoch & 0xffff) || slot.lease != lease) {
      return;
    }
    slot.lease = 0;
    slot.settled = true;
    if (verdict != Verdict::kNeutral) {
      const uint32_t rule = rule_.load();
      const uint32_t of = (rule >> 8) & 255;
      slot.history = ((slot.history << 1) | (verdict == Verdict::kGood ? 1U : 0U)) & 255;
      slot.count = std::min(slot.count + 1, of);
      const auto good =
          static_cast<uint32_t>(std::popcount(slot.history & ((1U << slot.count) - 1)));
      if (rule >> 16 == 0) {
        slot.says = slot.count == of ? ProbeRound::Says::kGood : slot.says;
      } else if (slot.count - good >= (rule & 255)) {
        slot.says = ProbeRound::Says::kBad;
      } else if (good >= (rule >> 16)) {
        slot.says = ProbeRound::Says::kGood;
      }
    }
    if (word_.compare_exchange_weak(bits, slot.bits())) {
      return;
    }
  }
}

ProbeRound ProbeSlot::round() const {
  const Slot slot = Slot::of(word_.load());
  const auto good = static_cast<uint32_t>(std::popcount(slot.history & ((1U << slot.count) - 1)));
  return ProbeRound{.says = slot.says,
                    .sent = slot.sent,
                    .settled = slot.settled,
                    .good = good,
                    .bad = slot.count - good};
}

}  // namespace spillway::resilience
