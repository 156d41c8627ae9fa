#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace spillway::net {

class TimerWheel;

/// Intrusive list node of a Timer; also the head of a slot's circular list.
class TimerLink {
 public:
  TimerLink() = default;
  TimerLink(const TimerLink&) = delete;
  TimerLink& operator=(const TimerLink&) = delete;

 protected:
  ~TimerLink() = default;

 private:
  friend class Timer;
  friend class TimerWheel;
  TimerLink* previous_ = nullptr;
  TimerLink* next_ = nullptr;
};

/// An entry of a TimerWheel, embedded in its owner; destruction unlinks it.
class Timer : private TimerLink {
 public:
  Timer() = default;

  [[nodiscard]] bool armed() const { return next_ != nullptr; }

  [[nodiscard]] base::Instant due() const { return due_; }

  /// Idempotent.
  void cancel() {
    if (next_ != nullptr) {
      previous_->next_ = next_;
      next_->previous_ = previous_;
      previous_ = next_ = nullptr;
    }
  }

 protected:
  ~Timer() { cancel(); }

  /// Called once, at or up to one tick after `due`; the timer is already unlinked and may be armed
  /// again or destroyed.
  virtual void on_timer(base::Instant now) = 0;

 private:
  friend class TimerWheel;
  base::Instant due_{};
  int64_t tick_ = 0;
};

/// Hashed wheel, 1 ms a slot: arm and cancel are O(1) and allocate nothing. Entries due in the same
/// tick fire in the order of arming. One thread owns it. 64 KiB.
///
/// Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987, scheme 6.
class TimerWheel {
 public:
  explicit TimerWheel(base::Instant now);
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;
  ~TimerWheel();

  /// (Re-)arms; never fires before `due`. kNever only cancels.
  void arm(Timer& timer, base::Instant due);

  /// Fires everything due at `now`, tick by tick. A handler may arm, cancel and destroy any timer.
  void advance(base::Instant now);

  /// A time not later than the earliest armed entry; kNever when there is none.
  [[nodiscard]] base::Instant next_due() const;

 private:
  static constexpr size_t kSlots = 4096;

  struct Slot final : TimerLink {};

  static size_t slot_of(int64_t tick) { return static_cast<size_t>(tick) % kSlots; }

  void append(Slot& list, Timer& timer);
  void fire_slot(int64_t tick, base::Instant now);
  [[nodiscard]] int64_t next_occupied() const;

  std::array<Slot, kSlots> slots_;
  /// A bit per slot: set when something was armed there, cleared when it is found empty.
  mutable std::array<uint64_t, kSlots / 64> occupied_{};
  int64_t current_;  ///< The last tick that was fired.
};

}  // namespace spillway::net
