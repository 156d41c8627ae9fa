#pragma once

#include <functional>
#include <initializer_list>

#include "net/reactor.h"

namespace spillway::net {

/// Signals as events of a reactor, on its thread. They are blocked in the constructing thread and
/// in all threads it starts afterwards: construct it first. SIGPIPE is ignored in the whole
/// process.
class SignalSource final : private ReadySink {
 public:
  using Handler = std::move_only_function<void(int number)>;

  SignalSource(Reactor& reactor, std::initializer_list<int> numbers, Handler handler);
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;
  ~SignalSource();

 private:
  void on_ready(uint32_t epoll_events) override;

  Reactor& reactor_;
  Handler handler_;
  int fd_;
};

}  // namespace spillway::net
