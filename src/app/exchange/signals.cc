#include "app/exchange/signals.h"

#include <csignal>
#include <cstdint>
#include <initializer_list>

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/assert.h"
#include "net/reactor.h"

namespace spillway::app {

SignalSource::SignalSource(net::Reactor& reactor, std::initializer_list<int> numbers,
                           SignalSink& sink)
    : reactor_(reactor), sink_(sink) {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) {
    sigaddset(&set, number);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  fd_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  SPILLWAY_ASSERT(fd_ >= 0);
  reactor_.add(fd_, EPOLLIN, *this);
}

SignalSource::~SignalSource() {
  reactor_.remove(fd_, *this);
  ::close(fd_);
}

void SignalSource::on_ready(uint32_t) {
  signalfd_siginfo info{};
  while (::read(fd_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    sink_.on_signal(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace spillway::app
