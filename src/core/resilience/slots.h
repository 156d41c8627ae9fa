#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/counter.h"
#include "resilience/proof.h"

namespace spillway::resilience {

/// The slots of one limit of calls in flight, dealt to workers as credits.
///
/// A slot is always in one place: held by a call, a credit in a worker's hand, returned to that
/// hand and not yet collected, or in the shared rest. A worker takes from its own hand by one CAS
/// on its own line and gives back by a plain store; an empty hand is refilled by a batch from the
/// rest, first with what it has returned itself, then with what lies unused in other hands. A call
/// is refused only after all of them were found empty. The batch is a quarter of a worker's equal
/// share; a limit below 8 slots a worker is not dealt at all: every call takes one from the rest.
///
/// Sum over all places = limit, so never more than the limit are held at any interleaving. After
/// set_limit lowered it, no slot is taken before enough are back: the rest is in debt, hands are
/// emptied, returns go to the rest. A limit that is not dealt is exact: with none held a take
/// succeeds. One that is dealt may refuse a call that runs while another thread moves slots between
/// a hand and the rest.
///
/// Threads: take and give_back by the worker whose index is given, one thread a worker; set_limit
/// and settle by one thread; held by any. Memory: 64 bytes a worker. Cost: take and give_back one
/// locked instruction together, on the worker's own line; a take that is refused reads every hand.
class Slots {
 public:
  explicit Slots(uint32_t workers) : hands_(workers) {}

  static constexpr uint32_t kDealtFrom = 8;    ///< Slots a worker.
  static constexpr uint32_t kBatchesEach = 4;  ///< Of an equal share of the limit.

  /// Takes a slot, or there is none.
  [[nodiscard]] bool take(uint32_t worker) {
    Hand& hand = hands_[worker];
    if (!take_credit(hand) && !borrow(hand)) {
      return false;
    }
    hand.held.add();
    return true;
  }

  /// A slot that was taken by the same worker is free again.
  void give_back(uint32_t worker) {
    Hand& hand = hands_[worker];
    hand.held.subtract();
    if (batch_of(deal_.load(std::memory_order_relaxed)) != 0) {
      hand.returned.store(hand.returned.load(std::memory_order_relaxed) + 1,
                          std::memory_order_release);
    } else {
      add_to_rest(1);
    }
  }

  /// Held now, as the worker may know it without reading other workers' lines: its own exactly,
  /// the others' as of the last settle.
  [[nodiscard]] int64_t held_seen_by(uint32_t worker) const {
    const Hand& hand = hands_[worker];
    return static_cast<int64_t>(hand.held.value()) +
           hand.held_by_others.load(std::memory_order_relaxed);
  }

  /// Slots held by all.
  [[nodiscard]] int64_t held() const;

  /// Slots taken while there were more of them stay held; 0: none can be taken.
  void set_limit(uint32_t limit);

  /// Call at ticks: pays a debt from what lies in hands, deals again when it is paid, and tells
  /// each worker what the others hold.
  void settle();

 private:
  struct alignas(64) Hand {
    AtomicSlot<int64_t> credit{0};      ///< Taken by its worker; put back into the rest by any.
    AtomicSlot<uint64_t> returned{0};   ///< Ever; one writer.
    AtomicSlot<uint64_t> collected{0};  ///< Of those, put into the rest; by any.
    base::Counter held;
    std::atomic<int64_t> held_by_others{0};
  };

  static uint32_t batch_of(uint64_t deal) { return static_cast<uint32_t>(deal); }

  static bool take_credit(Hand& hand) {
    int64_t credit = hand.credit.load(std::memory_order_relaxed);
    while (credit > 0) {
      if (hand.credit.compare_exchange_weak(credit, credit - 1)) {
        return true;
      }
    }
    return false;
  }

  [[gnu::noinline]] bool borrow(Hand& hand);
  bool draw(Hand& hand, uint64_t deal);
  bool collect(Hand& hand);
  void deal(bool empty_hands);
  void add_to_rest(int64_t slots);
  void publish_deal(uint32_t batch);

  std::vector<Hand> hands_;
  uint32_t limit_ = 0;  ///< The setting thread's own.
  /// Low half: credits drawn at once; 0: none are dealt. High half: changes with every deal.
  AtomicSlot<uint64_t> deal_{0};
  alignas(64) AtomicSlot<int64_t> rest_{0};  ///< Negative: a debt.
};

}  // namespace spillway::resilience
