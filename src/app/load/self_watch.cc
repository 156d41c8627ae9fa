#include "app/load/self_watch.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/time.h"

namespace spillway::app {

namespace {

constexpr base::Duration kEvery = std::chrono::milliseconds(10);
constexpr base::Duration kTick = std::chrono::milliseconds(1);  // of the wheel: no lag

base::Duration thread_cpu() {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);  // NOLINT(misc-include-cleaner)
  return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
}

}  // namespace

void SelfWatch::start() {
  since_ = reactor_.refresh();
  cpu_ = thread_cpu();
  reactor_.timers().arm(*this, since_ + kEvery);
}

void SelfWatch::on_timer(base::Instant now) {
  series_.note_lag(now, std::max(base::Duration{}, now - due() - kTick));
  if (now - since_ >= series_.interval()) {
    const base::Duration cpu = thread_cpu();
    const auto ratio =
        static_cast<double>((cpu - cpu_).count()) / static_cast<double>((now - since_).count());
    series_.note_cpu(since_, ratio);
    since_ = now;
    cpu_ = cpu;
  }
  reactor_.timers().arm(*this, now + kEvery);
}

}  // namespace spillway::app
