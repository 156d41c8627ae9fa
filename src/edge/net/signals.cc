#include "net/signals.h"

#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/assert.h"
#include "net/reactor.h"

namespace spillway::net {

SignalSource::SignalSource(Reactor& reactor, std::initializer_list<int> numbers, Handler handler)
    : reactor_(reactor), handler_(std::move(handler)) {
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
    handler_(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace spillway::net
