#include "net/timer_wheel.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace spillway::net {
namespace {

constexpr int64_t kTickNs = 1'000'000;
constexpr int64_t kNoTick = -1;

int64_t tick_at(base::Instant time) { return time.time_since_epoch().count() / kTickNs; }

/// The first tick that is not before `due`.
int64_t tick_for(base::Instant due) {
  const int64_t ns = due.time_since_epoch().count();
  return (ns / kTickNs) + (ns % kTickNs > 0 ? 1 : 0);
}

}  // namespace

TimerWheel::TimerWheel(base::Instant now) : current_(tick_at(now)) {
  for (Slot& slot : slots_) {
    slot.previous_ = slot.next_ = &slot;
  }
}

TimerWheel::~TimerWheel() {
  for (Slot& slot : slots_) {
    while (slot.next_ != &slot) {
      static_cast<Timer*>(slot.next_)->cancel();
    }
  }
}

void TimerWheel::append(Slot& list, Timer& timer) {
  timer.previous_ = list.previous_;
  timer.next_ = &list;
  list.previous_->next_ = &timer;
  list.previous_ = &timer;
}

void TimerWheel::arm(Timer& timer, base::Instant due) {
  timer.cancel();
  timer.due_ = due;
  if (due == base::kNever) {
    return;
  }
  timer.tick_ = std::max(tick_for(due), current_ + 1);
  const size_t slot = slot_of(timer.tick_);
  append(slots_[slot], timer);
  occupied_[slot / 64] |= uint64_t{1} << (slot % 64);
}

int64_t TimerWheel::next_occupied() const {
  const size_t first = slot_of(current_ + 1);
  // One word more than there are: the first word's low bits belong to the end of the revolution.
  for (size_t i = 0; i <= occupied_.size(); ++i) {
    const size_t word = ((first / 64) + i) % occupied_.size();
    uint64_t bits = occupied_[word];
    if (i == 0) {
      bits &= ~uint64_t{0} << (first % 64);
    } else if (i == occupied_.size()) {
      bits &= ~(~uint64_t{0} << (first % 64));
    }
    for (; bits != 0; bits &= bits - 1) {
      const size_t slot = (word * 64) + static_cast<size_t>(std::countr_zero(bits));
      if (slots_[slot].next_ != &slots_[slot]) {
        return current_ + 1 + static_cast<int64_t>((slot + kSlots - first) % kSlots);
      }
      occupied_[word] &= ~(uint64_t{1} << (slot % 64));
    }
  }
  return kNoTick;
}

void TimerWheel::fire_slot(int64_t tick, base::Instant now) {
  Slot& slot = slots_[slot_of(tick)];
  Slot batch;
  batch.next_ = slot.next_;
  batch.previous_ = slot.previous_;
  batch.next_->previous_ = batch.previous_->next_ = &batch;
  slot.previous_ = slot.next_ = &slot;
  while (batch.next_ != &batch) {
    auto& timer = *static_cast<Timer*>(batch.next_);
    timer.cancel();
    if (timer.tick_ > tick) {
      append(slot, timer);  // of a later revolution
    } else {
      timer.on_timer(now);
    }
  }
}

void TimerWheel::advance(base::Instant now) {
  const int64_t target = tick_at(now);
  while (current_ < target) {
    const int64_t tick = next_occupied();
    if (tick == kNoTick || tick > target) {
      current_ = target;
      return;
    }
    current_ = tick;
    fire_slot(tick, now);
  }
}

base::Instant TimerWheel::next_due() const {
  const int64_t tick = next_occupied();
  return tick == kNoTick ? base::kNever : base::Instant(std::chrono::nanoseconds(tick * kTickNs));
}

}  // namespace spillway::net
