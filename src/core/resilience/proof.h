#pragma once

#include <atomic>

/// Seams for the tests that prove the invariants, compiled in under SPILLWAY_PROOF only. In any
/// other build a planted bug is the constant false and an Atomic is a std::atomic.

#ifdef SPILLWAY_PROOF

namespace spillway::resilience::proof {

/// The invariant whose planted bug is in force; 0: none.
extern int planted_bug;
/// Called before each step on a word that several threads write, or (`count`) on a counter of one
/// writer that the tick reads; null: no one schedules.
extern void (*before_step)(bool count);
/// Operations on the slots of a limit step as well, for scenarios of the limit alone.
enum class SlotSteps { kNone, kWrites, kAll };
extern SlotSteps slot_steps;

enum class Kind { kShared, kCount, kSlot };

/// A std::atomic whose operations are the steps of a scheduler.
template <typename T, Kind Which>
class SteppedAtomic {
 public:
  explicit(false) SteppedAtomic(T value = {}) : inner_(value) {}

  T load(std::memory_order = std::memory_order_seq_cst) const {
    step(SlotSteps::kAll);
    return inner_.load();
  }

  void store(T value, std::memory_order = std::memory_order_seq_cst) {
    step(SlotSteps::kWrites);
    inner_.store(value);
  }

  bool compare_exchange_weak(T& expected, T desired) {
    step(SlotSteps::kWrites);
    return inner_.compare_exchange_strong(expected, desired);
  }

 private:
  static void step(SlotSteps from) {
    if (before_step != nullptr && (Which != Kind::kSlot || slot_steps >= from)) {
      before_step(Which == Kind::kCount);
    }
  }

  std::atomic<T> inner_;
};

}  // namespace spillway::resilience::proof

namespace spillway::resilience {
template <typename T>
using Atomic = proof::SteppedAtomic<T, proof::Kind::kShared>;
template <typename T>
using AtomicCount = proof::SteppedAtomic<T, proof::Kind::kCount>;
template <typename T>
using AtomicSlot = proof::SteppedAtomic<T, proof::Kind::kSlot>;
}  // namespace spillway::resilience

#define SPILLWAY_PLANTED(invariant) (::spillway::resilience::proof::planted_bug == (invariant))

#else

namespace spillway::resilience {
template <typename T>
using Atomic = std::atomic<T>;
template <typename T>
using AtomicCount = std::atomic<T>;
template <typename T>
using AtomicSlot = std::atomic<T>;
}  // namespace spillway::resilience

#define SPILLWAY_PLANTED(invariant) false

#endif
