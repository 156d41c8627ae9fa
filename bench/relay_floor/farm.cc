#include "relay_floor/farm.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relay_floor/wire.h"

namespace spillway::relay_floor {

namespace {

/// A listener or a connection of one DSP.
struct Link {
  int fd = -1;
  bool listens = false;
  size_t dsp = 0;
  size_t have = 0;
  std::array<char, 65536> bytes{};
};

/// The farm's loop. `note(dsp, ask)` is told every request.
template <typename Note>
[[noreturn]] void serve(const std::vector<Listener>& listeners, Note note) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  const auto watch = [epoll](int fd, bool listens, size_t dsp) {
    auto link = std::make_unique<Link>();
    link->fd = fd;
    link->listens = listens;
    link->dsp = dsp;
    epoll_event event{.events = EPOLLIN, .data = {.ptr = link.get()}};
    require(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
    static_cast<void>(link.release());  // epoll's from here on
  };
  std::vector<std::string> answers;
  for (size_t dsp = 0; dsp < listeners.size(); ++dsp) {
    watch(listeners[dsp].fd, true, dsp);
    answers.push_back(Farm::answer_of(dsp));
  }
  const auto on_ready = [&](Link& link) {
    if (link.listens) {
      for (int fd = 0; (fd = accept_from(link.fd)) >= 0;) {
        watch(fd, false, link.dsp);
      }
      return;
    }
    const ssize_t got =
        ::read(link.fd, link.bytes.data() + link.have, link.bytes.size() - link.have);
    if (got <= 0) {
      ::close(link.fd);
      delete &link;
      return;
    }
    link.have += static_cast<size_t>(got);
    const std::string_view ask(link.bytes.data(), link.have);
    if (message_bytes(ask) != 0) {
      link.have = 0;
      note(link.dsp, ask);
      const std::string& answer = answers[link.dsp];
      static_cast<void>(!::write(link.fd, answer.data(), answer.size()));
    }
  };
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int ready = ::epoll_wait(epoll, events.data(), events.size(), -1);
    for (int i = 0; i < ready; ++i) {
      on_ready(*static_cast<Link*>(events[static_cast<size_t>(i)].data.ptr));
    }
  }
}

}  // namespace

void Farm::Shared::note(size_t dsp, std::string_view ask) {
  if (dsp == 0 && first_bytes == 0) {
    std::ranges::copy(ask, first);
    first_bytes = ask.size();
  }
  ask_bytes += ask.size();
  asks += 1;
}

Farm::Farm(size_t dsps) {
  std::vector<Listener> listeners;
  for (size_t dsp = 0; dsp < dsps; ++dsp) {
    listeners.push_back(listen_anywhere());
    ports_.push_back(listeners.back().port);
  }
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, "no shared memory");
  shared_ = new (memory) Shared{};
  process_ = ::fork();
  require(process_ >= 0, "cannot fork");
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_IGN);
    serve(listeners, [this](size_t dsp, std::string_view ask) { shared_->note(dsp, ask); });
  }
  for (const Listener& listener : listeners) {
    ::close(listener.fd);
  }
}

Farm::~Farm() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  ::munmap(shared_, sizeof(Shared));
}

std::string Farm::first_ask() const { return {shared_->first, shared_->first_bytes}; }

std::string Farm::answer_of(size_t number) {
  const std::string body = fmt::format(
      R"({{"id":"answer-{0:02}","seatbid":[{{"seat":"seat-{0:02}","bid":[{{"id":"bid-{0:02}",)"
      R"("impid":"1","price":1.{0:02},"adm":"<a href=\"https://ads.example/click/{0:02}\"><img )"
      R"(src=\"https://ads.example/creative/300x250/{0:02}.png\" width=300 height=250></a>",)"
      R"("adomain":["brand-{0:02}.example"],"cid":"campaign-{0:02}","crid":"creative-{0:02}",)"
      R"("cat":["IAB1-1"],"w":300,"h":250}}]}}],"cur":"USD"}})",
      number);
  return fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
}

}  // namespace spillway::relay_floor
