#include "net/reactor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/time.h"

namespace spillway::net {
namespace {

using Work = std::move_only_function<void()>;

constexpr size_t kBatch = 1024;  // all that is ready, mostly: so its age is known
constexpr size_t kMore = 256;    // that come while a batch is handed out
constexpr size_t kSlice = 16;    // handed out between two looks at the timers
constexpr uint64_t kServed = ~uint64_t{0};
constexpr base::Duration kShortBatch = std::chrono::microseconds(50);
constexpr base::Duration kHeldUp = std::chrono::milliseconds(3);

struct Slot {
  ReadySink* sink = nullptr;
  uint32_t generation = 0;  ///< Tells a descriptor's number used again from its earlier life.
  Urgency urgency = Urgency::kPlain;
};

}  // namespace

struct Reactor::Body {
  int epoll = -1;
  int wake = -1;
  int alarm = -1;
  base::Instant alarm_at = base::kNever;  ///< When it rings; kNever once it has.
  std::vector<Slot> slots;                ///< By descriptor.
  std::array<epoll_event, kBatch + kMore> events{};
  std::vector<Work> deferred;
  std::atomic<bool> stopping{false};
  size_t batch_next = 0;
  size_t batch_end = 0;
  bool woken = false;

  std::mutex mutex;  ///< Guards what follows.
  std::vector<Work> mailbox;
  bool signalled = false;
  bool ended = false;

  void signal() const {
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake, &one, sizeof one);
  }

  void control(int operation, int fd, uint32_t mask) {
    epoll_event event{};
    event.events = mask;
    const auto index = static_cast<size_t>(fd);
    event.data.u64 = (uint64_t{slots[index].generation} << 32) | static_cast<uint32_t>(fd);
    SPILLWAY_ASSERT(epoll_ctl(epoll, operation, fd, &event) == 0);
  }

  /// Rings at `due` or before. A timeout of each wait would be set and cancelled in the kernel
  /// every time, and most deadlines are cancelled unmet: one that rings early and for nothing, now
  /// and then, is cheaper. Nobody reads it: it is edge-triggered, and setting it again clears it.
  void set_alarm(base::Instant due, base::Instant now) {
    if (due >= alarm_at) {
      return;
    }
    alarm_at = due;
    const base::Duration left = std::max(due - now, base::Duration(1));  // 0 would disarm
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const itimerspec setting{
        .it_interval = {},
        .it_value = {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()}};
    SPILLWAY_ASSERT(timerfd_settime(alarm, 0, &setting, nullptr) == 0);
  }

  size_t poll(int timeout_ms) {
    const int ready = epoll_wait(epoll, events.data(), static_cast<int>(kBatch), timeout_ms);
    return ready > 0 ? static_cast<size_t>(ready) : 0;
  }

  /// What has become ready since then joins the batch.
  void poll_more() {
    const size_t room = events.size() - batch_end;
    const int ready =
        room == 0 ? 0 : epoll_wait(epoll, events.data() + batch_end, static_cast<int>(room), 0);
    batch_end += ready > 0 ? static_cast<size_t>(ready) : 0;
  }

  /// Waits until something is ready, at most until `due`.
  size_t wait(base::Instant due, base::Instant now) {
    if (due <= now) {
      return poll(0);
    }
    set_alarm(due, now);
    return poll(-1);
  }

  /// The answers in the batch, out of turn.
  void dispatch_answers() {
    for (size_t i = batch_next; i < batch_end; ++i) {
      const epoll_event event = events[i];
      if (event.data.u64 == kServed) {
        continue;
      }
      const auto fd = static_cast<uint32_t>(event.data.u64);
      if (slots[fd].urgency == Urgency::kAnswer) {
        events[i].data.u64 = kServed;
        hand_out(event);
      }
    }
  }

  void dispatch(size_t most) {
    const size_t end = std::min(batch_end, batch_next + most);
    while (batch_next < end) {
      const epoll_event event = events[batch_next++];
      if (event.data.u64 == kServed) {
        continue;
      }
      const auto fd = static_cast<uint32_t>(event.data.u64);
      if (static_cast<int>(fd) == wake) {
        woken = true;
        continue;
      }
      if (static_cast<int>(fd) == alarm) {
        alarm_at = base::kNever;
        continue;
      }
      hand_out(event);
    }
  }

  void hand_out(const epoll_event& event) {
    const Slot slot = slots[static_cast<uint32_t>(event.data.u64)];
    if (slot.sink != nullptr && slot.generation == static_cast<uint32_t>(event.data.u64 >> 32)) {
      slot.sink->on_ready(event.events);
    }
  }

  void run_mailbox() {
    std::vector<Work> batch;
    {
      const std::lock_guard lock(mutex);
      uint64_t count = 0;
      [[maybe_unused]] const auto read_bytes = ::read(wake, &count, sizeof count);
      signalled = false;
      batch.swap(mailbox);
    }
    for (Work& work : batch) {
      work();
    }
  }

  void run_posted() {
    if (woken) {
      woken = false;
      run_mailbox();
    }
    run_deferred();
  }

  void run_deferred() {
    while (!deferred.empty()) {
      std::vector<Work> batch;
      batch.swap(deferred);
      for (Work& work : batch) {
        work();
      }
    }
  }
};

Reactor::Reactor(const base::Clock& clock)
    : clock_(clock),
      now_(clock.now()),
      earliest_arrival_(now_),
      timers_(now_),
      body_(std::make_unique<Body>()) {
  body_->epoll = epoll_create1(EPOLL_CLOEXEC);
  body_->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  body_->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  SPILLWAY_ASSERT(body_->epoll >= 0 && body_->wake >= 0 && body_->alarm >= 0);
  body_->slots.resize(static_cast<size_t>(std::max(body_->wake, body_->alarm)) + 1);
  body_->control(EPOLL_CTL_ADD, body_->wake, EPOLLIN);
  body_->control(EPOLL_CTL_ADD, body_->alarm, EPOLLIN | EPOLLET);
}

Reactor::~Reactor() {
  std::vector<Work> unrun;
  {
    const std::lock_guard lock(body_->mutex);
    body_->ended = true;
    unrun.swap(body_->mailbox);
  }
  unrun.clear();
  body_->deferred.clear();
  ::close(body_->alarm);
  ::close(body_->wake);
  ::close(body_->epoll);
}

base::Instant Reactor::refresh() {
  now_ = clock_.now();
  return now_;
}

void Reactor::run() {
  {
    const std::lock_guard lock(body_->mutex);
    body_->ended = false;
  }
  base::Instant returned_at = refresh();  // of the last poll; now() moves on under handlers
  body_->run_deferred();                  // from before this run
  while (!body_->stopping.load(std::memory_order_acquire)) {
    const base::Instant polled_at = clock_.now();
    bool busy = polled_at - returned_at >= kShortBatch;
    const base::Instant previous = returned_at;
    const base::Instant due = timers_.next_due();
    size_t ready = busy ? body_->poll(0) : 0;
    if (ready == 0) {
      busy = false;
      ready = body_->wait(due, polled_at);
    }
    returned_at = refresh();
    body_->batch_next = 0;
    body_->batch_end = ready;
    const bool held_up = now_ - due >= kHeldUp;
    earliest_arrival_ = busy ? previous : now_;
    if (held_up) {
      earliest_arrival_ = std::min(earliest_arrival_, std::max(due, previous));
      body_->dispatch_answers();
    }
    timers_.advance(now_);
    body_->dispatch(kSlice);
    body_->run_posted();
    while (body_->batch_next < body_->batch_end) {
      if (refresh() - timers_.next_due() >= kHeldUp) {
        serve_answers_since(returned_at);
      }
      timers_.advance(now_);
      body_->dispatch(kSlice);
      body_->run_posted();
    }
  }
  body_->run_mailbox();
  body_->run_deferred();
  body_->stopping.store(false, std::memory_order_relaxed);
  std::vector<Work> unrun;
  const std::lock_guard lock(body_->mutex);
  body_->ended = true;
  unrun.swap(body_->mailbox);
}

void Reactor::serve_answers_since(base::Instant poll) {
  body_->dispatch_answers();
  body_->poll_more();
  const base::Instant of_batch = std::exchange(earliest_arrival_, poll);
  body_->dispatch_answers();
  earliest_arrival_ = of_batch;
}

void Reactor::stop() {
  body_->stopping.store(true, std::memory_order_release);
  body_->signal();
}

bool Reactor::pending(int fd) const {
  const auto* const begin = body_->events.data();
  return std::any_of(begin + body_->batch_next, begin + body_->batch_end,
                     [fd](const epoll_event& event) {
                       return static_cast<uint32_t>(event.data.u64) == static_cast<uint32_t>(fd);
                     });
}

void Reactor::post(Work work) {
  const std::lock_guard lock(body_->mutex);
  if (body_->ended) {
    return;
  }
  body_->mailbox.push_back(std::move(work));
  if (!body_->signalled) {
    body_->signalled = true;
    body_->signal();
  }
}

void Reactor::defer(Work work) { body_->deferred.push_back(std::move(work)); }

void Reactor::add(int fd, uint32_t mask, ReadySink& sink, Urgency urgency) {
  const auto index = static_cast<size_t>(fd);
  if (index >= body_->slots.size()) {
    body_->slots.resize(index + 1);
  }
  body_->slots[index].sink = &sink;
  body_->slots[index].urgency = urgency;
  ++body_->slots[index].generation;
  body_->control(EPOLL_CTL_ADD, fd, mask);
}

void Reactor::change(int fd, uint32_t mask, ReadySink& sink) {
  body_->slots[static_cast<size_t>(fd)].sink = &sink;
  body_->control(EPOLL_CTL_MOD, fd, mask);
}

void Reactor::remove(int fd, ReadySink& sink) {
  const auto index = static_cast<size_t>(fd);
  if (index >= body_->slots.size()) {
    return;
  }
  Slot& slot = body_->slots[index];
  if (slot.sink == &sink) {
    slot.sink = nullptr;
    ++slot.generation;
    epoll_event unused{};
    epoll_ctl(body_->epoll, EPOLL_CTL_DEL, fd, &unused);
  }
}

}  // namespace spillway::net
