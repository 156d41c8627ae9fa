// The floor that the exchange is measured against: the least a program can do that takes a caller's
// request, asks every DSP and answers when all have answered. One epoll loop, one writev per DSP,
// one read per answer, kept-alive connections; it parses nothing but Content-Length. What it sends
// is read from two files, so that it moves the very bytes the exchange moves.
//
//   bare_relay ASK_FILE ANSWER_FILE DSP_PORT...

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <ios>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "relay_floor/wire.h"

namespace spillway::relay_floor {
namespace {

std::string file_text(const char* path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One connection, to a caller or to a DSP.
struct Link {
  int fd = -1;
  bool caller = false;
  size_t dsp = 0;             ///< Of a link to a DSP.
  Link* asked_for = nullptr;  ///< The caller whose auction a DSP's link works on.
  size_t waiting = 0;         ///< Answers a caller's auction still wants.
  size_t have = 0;
  std::array<char, 65536> bytes{};
};

class Relay {
 public:
  Relay(std::string ask, std::string answer, std::vector<uint16_t> dsps)
      : ask_(std::move(ask)),
        ask_body_(ask_.find("\r\n\r\n") + 4),
        answer_(std::move(answer)),
        dsps_(std::move(dsps)),
        idle_(dsps_.size()) {
    require(message_bytes(ask_) == ask_.size(), "the ask is not one HTTP request");
    watch(listener_.fd, nullptr);
  }

  [[nodiscard]] uint16_t port() const { return listener_.port; }

  [[noreturn]] void run() {
    std::array<epoll_event, 64> events{};
    for (;;) {
      const int ready = ::epoll_wait(epoll_, events.data(), events.size(), -1);
      for (int i = 0; i < ready; ++i) {
        auto* const link = static_cast<Link*>(events[static_cast<size_t>(i)].data.ptr);
        link == nullptr ? accept_all() : on_readable(*link);
      }
    }
  }

 private:
  void watch(int fd, Link* link) const {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = link}};
    require(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
  }

  Link& add(int fd) {
    links_.push_back(std::make_unique<Link>());
    links_.back()->fd = fd;
    watch(fd, links_.back().get());
    return *links_.back();
  }

  void accept_all() {
    for (int fd = 0; (fd = accept_from(listener_.fd)) >= 0;) {
      add(fd).caller = true;
    }
  }

  void on_readable(Link& link) {
    const ssize_t got =
        ::read(link.fd, link.bytes.data() + link.have, link.bytes.size() - link.have);
    if (got <= 0) {
      require(link.caller && link.waiting == 0, "a connection was lost in an auction");
      ::close(link.fd);
      return;
    }
    link.have += static_cast<size_t>(got);
    if (message_bytes({link.bytes.data(), link.have}) == 0) {
      return;
    }
    link.have = 0;
    link.caller ? ask_all(link) : on_answer(link);
  }

  Link& link_to(size_t dsp) {
    if (!idle_[dsp].empty()) {
      Link& link = *idle_[dsp].back();
      idle_[dsp].pop_back();
      return link;
    }
    const int fd = connect_to(dsps_[dsp]);
    require(fd >= 0, "a DSP does not listen");
    Link& link = add(fd);
    link.dsp = dsp;
    return link;
  }

  void ask_all(Link& caller) {
    caller.waiting = dsps_.size();
    for (size_t dsp = 0; dsp < dsps_.size(); ++dsp) {
      Link& link = link_to(dsp);
      link.asked_for = &caller;
      const std::array<iovec, 2> parts = {
          {{.iov_base = ask_.data(), .iov_len = ask_body_},
           {.iov_base = ask_.data() + ask_body_, .iov_len = ask_.size() - ask_body_}}};
      require(std::cmp_equal(::writev(link.fd, parts.data(), parts.size()), ask_.size()),
              "a DSP does not take a whole ask");
    }
  }

  void on_answer(Link& link) {
    idle_[link.dsp].push_back(&link);
    Link& caller = *std::exchange(link.asked_for, nullptr);
    if (--caller.waiting == 0) {
      require(std::cmp_equal(::write(caller.fd, answer_.data(), answer_.size()), answer_.size()),
              "a caller does not take a whole answer");
    }
  }

  std::string ask_;
  size_t ask_body_;
  std::string answer_;
  std::vector<uint16_t> dsps_;
  std::vector<std::vector<Link*>> idle_;
  std::vector<std::unique_ptr<Link>> links_;  // never shrinks: a bench opens few
  Listener listener_ = listen_anywhere();
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
};

}  // namespace
}  // namespace spillway::relay_floor

int main(int count, char** values) {
  using spillway::relay_floor::file_text;
  using spillway::relay_floor::require;
  const std::span<char*> arguments(values, static_cast<size_t>(count));
  require(count > 3, "usage: bare_relay ASK_FILE ANSWER_FILE DSP_PORT...");
  std::vector<uint16_t> dsps;
  for (const std::string_view text : arguments.subspan(3)) {
    std::from_chars(text.data(), text.data() + text.size(), dsps.emplace_back());
  }
  spillway::relay_floor::Relay relay(file_text(arguments[1]), file_text(arguments[2]),
                                     std::move(dsps));
  std::printf("event=started listen=127.0.0.1:%u\n", relay.port());
  std::fflush(stdout);
  relay.run();
}
