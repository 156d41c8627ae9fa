#pragma once

#include <initializer_list>

#include "net/reactor.h"

namespace spillway::app {

/// Whoever is told of signals, on the reactor's thread.
class SignalSink {
 public:
  virtual void on_signal(int number) = 0;

 protected:
  ~SignalSink() = default;
};

/// Signals as events of a reactor. They are blocked in the constructing thread and in all threads
/// it starts afterwards: construct it first. SIGPIPE is ignored in the whole process.
class SignalSource final : private net::ReadySink {
 public:
  SignalSource(net::Reactor& reactor, std::initializer_list<int> numbers, SignalSink& sink);
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;
  ~SignalSource();

 private:
  void on_ready(uint32_t epoll_events) override;

  net::Reactor& reactor_;
  SignalSink& sink_;
  int fd_;
};

}  // namespace spillway::app
