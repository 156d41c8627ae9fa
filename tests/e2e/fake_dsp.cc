#include "e2e/fake_dsp.h"

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "e2e/sockets.h"

namespace spillway::e2e {

FakeDsp::FakeDsp(Script script, const std::string& address, uint16_t port)
    : script_(std::move(script)) {
  listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  ::inet_pton(AF_INET, address.c_str(), &place.sin_addr);
  socklen_t size = sizeof(place);
  if (::bind(listener_.value(), reinterpret_cast<sockaddr*>(&place), size) == 0 &&
      ::listen(listener_.value(), 512) == 0) {
    ::getsockname(listener_.value(), reinterpret_cast<sockaddr*>(&place), &size);
    port_ = ntohs(place.sin_port);
  }
  acceptor_ = std::thread([this] { accept_all(); });
}

FakeDsp::~FakeDsp() {
  ending_ = true;
  ::shutdown(listener_.value(), SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) {
      ::shutdown(fd, SHUT_RDWR);
    }
  }
  for (auto& thread : threads_) {
    thread.join();
  }
}

Message FakeDsp::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void FakeDsp::set_script(Script script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

void FakeDsp::accept_all() {
  while (true) {
    const int fd = ::accept4(listener_.value(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      return;
    }
    const std::lock_guard lock(mutex_);
    if (ending_) {
      ::close(fd);
      return;
    }
    open_.push_back(fd);
    threads_.emplace_back([this, fd] { serve(fd); });
  }
}

void FakeDsp::serve(int fd) {
  std::string buffer;
  Message request;
  while (read_message(fd, buffer, request)) {
    ++calls_;
    Script script;
    {
      const std::lock_guard lock(mutex_);
      last_ = request;
      script = script_;
    }
    const Answer answer = script(request);
    pollfd gone{.fd = fd, .events = POLLRDHUP, .revents = 0};
    TEMP_FAILURE_RETRY(::poll(&gone, 1, static_cast<int>(answer.after.count())));
    send_all(fd, answer.bytes);
    if (answer.hang) {
      std::string ignored;
      while (receive_some(fd, ignored)) {
      }
      break;
    }
    if (answer.close) {
      break;
    }
  }
  const std::lock_guard lock(mutex_);
  std::erase(open_, fd);
  ::close(fd);
}

std::string ok(std::string_view body) {
  return fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
}

std::string bid_body(std::string_view price, std::string_view seat) {
  return fmt::format(
      R"({{"id":"req-1","cur":"USD","seatbid":[{{"seat":"{}","bid":[{{"id":"b1","impid":"1","price":{},)"
      R"("adm":"<b>ad</b>","adomain":["adv.example"],"crid":"c1","w":300,"h":250}}]}}]}})",
      seat, price);
}

}  // namespace spillway::e2e
