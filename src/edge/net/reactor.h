#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/time.h"
#include "net/timer_wheel.h"

namespace spillway::net {

/// What a file descriptor's owner is told. Called on the reactor's thread.
class ReadySink {
 public:
  virtual void on_ready(uint32_t epoll_events) = 0;

 protected:
  ~ReadySink() = default;
};

/// What a descriptor brings: anything, or answers to what was asked under a deadline.
enum class Urgency : uint8_t { kPlain, kAnswer };

/// One thread's event loop: epoll readiness, a timer wheel and a mailbox from other threads.
/// Reads the clock once a poll; `now()` is that reading, so handlers pay nothing for time.
///
/// Each poll takes all that is ready, up to 1 024 descriptors. Due timers fire before each 16 of
/// them, posted and deferred work runs after, so that a deadline waits for 16 at most. Only when
/// the thread was held up, so that a timer fires some 3 ms late, are the answers that are there
/// (Urgency::kAnswer) served before it, also those that came since the poll: what came in time is
/// not to be judged late because we were. New work waits, as it costs most and would make us later.
///
/// Thread rule: everything on the thread in run(), but post() and stop(), which any may call.
class Reactor {
 public:
  explicit Reactor(const base::Clock& clock);
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;
  ~Reactor();

  /// Runs until stop(). Handlers already due are finished first.
  void run();
  void stop();

  /// Runs `work` on the reactor's thread, in order of posting. Any thread. After run() has ended
  /// the work is destroyed unrun.
  void post(std::move_only_function<void()> work);

  /// Runs `work` once the handlers of this poll are done, before waiting again. Own thread only;
  /// no lock, no system call.
  void defer(std::move_only_function<void()> work);

  /// Time at the start of this poll's handlers; refresh() reads the clock again and returns it.
  [[nodiscard]] base::Instant now() const { return now_; }

  base::Instant refresh();

  /// Since when, at most, bytes read now can have been waiting: the end of the poll before this
  /// one, or when a held-up thread should have woken. Equals now() when this poll had to wait, i.e.
  /// the thread was idle. A batch of handlers under 50 us counts as idle too: it saves the system
  /// call that would tell.
  [[nodiscard]] base::Instant earliest_arrival() const { return earliest_arrival_; }

  TimerWheel& timers() { return timers_; }

  /// Registers, changes and removes a descriptor (edge-triggered when the mask says EPOLLET). A
  /// sink removed while its event is pending in this poll is not called. What was never added may
  /// be removed: that does nothing.
  void add(int fd, uint32_t mask, ReadySink& sink, Urgency urgency = Urgency::kPlain);
  void change(int fd, uint32_t mask, ReadySink& sink);
  void remove(int fd, ReadySink& sink);

  /// Whether this poll's batch holds an event of `fd` that was not handed out yet. At most
  /// 1 280 comparisons.
  [[nodiscard]] bool pending(int fd) const;

 private:
  struct Body;

  /// The answers of the batch, and those that came since the poll.
  void serve_answers_since(base::Instant poll);

  const base::Clock& clock_;
  base::Instant now_{};
  base::Instant earliest_arrival_{};
  TimerWheel timers_;
  std::unique_ptr<Body> body_;
};

}  // namespace spillway::net
