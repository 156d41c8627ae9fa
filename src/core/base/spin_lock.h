#pragma once

#include <atomic>
#include <cstdint>

namespace spillway::base {

/// The lock of sections that are bounded and short: some hundred nanoseconds, no I/O, no
/// allocation, no call into unknown code. Spins; when the holder was taken off its core the waiters
/// sleep instead of burning theirs. Not fair.
///
/// Any thread. 4 bytes. Cost without contention: one locked instruction each way.
/// Source: Drepper, "Futexes Are Tricky", 2011, mutex 3, over std::atomic::wait.
class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  [[nodiscard]] bool try_lock() {
    uint32_t free = kFree;
    return state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  void lock() {
    for (int i = 0; i < kSpins; ++i) {
      if (state_.load(std::memory_order_relaxed) == kFree && try_lock()) {
        return;
      }
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
  }

  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) {
      state_.notify_one();
    }
  }

 private:
  static constexpr int kSpins = 200;
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kHeld = 1;
  static constexpr uint32_t kAwaited = 2;  ///< Held, and somebody may sleep.

  std::atomic<uint32_t> state_{kFree};
};

/// Holds a SpinLock for a block.
class SpinSection {
 public:
  explicit SpinSection(SpinLock& lock) : lock_(lock) { lock_.lock(); }

  ~SpinSection() { lock_.unlock(); }

  SpinSection(const SpinSection&) = delete;
  SpinSection& operator=(const SpinSection&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace spillway::base
