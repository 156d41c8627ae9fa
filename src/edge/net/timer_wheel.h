#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace spillway::net {

/// An entry of a TimerWheel, embedded in its owner; destruction unlinks it.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  [[nodiscard]] bool armed() const { return next_ != nullptr; }
  [[nodiscard]] base::Instant due() const { return due_; }

  /// Idempotent.
  void cancel();

 protected:
  ~Timer() { cancel(); }

  /// Called once, at or up to one tick after `due`; the timer is already unlinked and may be armed
  /// again or destroyed.
  virtual void on_timer(base::Instant now) = 0;

 private:
  friend class TimerWheel;
  Timer* previous_ = nullptr;
  Timer* next_ = nullptr;
  base::Instant due_{};
};

/// Hashed wheel, 1 ms a slot: arm and cancel are O(1) and allocate nothing. Entries due in the same
/// tick fire in the order of arming. One thread owns it.
class TimerWheel {
 public:
  explicit TimerWheel(base::Instant now);
  ~TimerWheel();

  /// (Re-)arms; never fires before `due`.
  void arm(Timer& timer, base::Instant due);

  /// Fires everything due at `now`.
  void advance(base::Instant now);

  /// A time not later than the earliest armed entry; kNever when there is none.
  [[nodiscard]] base::Instant next_due() const;

 private:
  static constexpr size_t kSlots = 4096;
  struct Body;
  Body* body_;
};

}  // namespace spillway::net
