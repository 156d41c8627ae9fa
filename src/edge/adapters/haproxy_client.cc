#include "adapters/haproxy_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/time.h"
#include "net/reactor.h"
#include "net/stream.h"

namespace spillway::adapters {

namespace {

constexpr std::string_view kPrompt = "\n> ";

HaproxyErrc error_of(int number) {
  return number == EACCES || number == EPERM ? HaproxyErrc::kDenied : HaproxyErrc::kNoListener;
}

/// Length of the address written to `out`; 0 when the text is none.
// NOLINTNEXTLINE(misc-include-cleaner): of socklen_t
socklen_t read_address(const std::string& text, sockaddr_storage& out) {
  if (text.starts_with('/')) {
    auto& local = reinterpret_cast<sockaddr_un&>(out);
    local.sun_family = AF_UNIX;
    if (text.size() >= sizeof local.sun_path) {
      return 0;
    }
    std::memcpy(local.sun_path, text.c_str(), text.size() + 1);
    return sizeof local;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return 0;
  }
  const auto port = static_cast<uint16_t>(std::strtoul(text.c_str() + colon + 1, nullptr, 10));
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    auto& six = reinterpret_cast<sockaddr_in6&>(out);
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    host = host.substr(1, host.size() - 2);
    return ::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1 ? sizeof six : 0;
  }
  auto& four = reinterpret_cast<sockaddr_in&>(out);
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  return ::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1 ? sizeof four : 0;
}

std::string without_line_ends(std::string_view text) {
  while (text.starts_with('\n')) {
    text.remove_prefix(1);
  }
  while (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

}  // namespace

std::string_view to_string(HaproxyErrc error) {
  static constexpr std::array<std::string_view, kHaproxyErrors> kNames{
      "no_listener", "denied", "timeout", "lost", "too_large", "busy", "unsafe"};
  return kNames[static_cast<size_t>(error)];
}

HaproxyClient::HaproxyClient(net::Reactor& reactor, std::string address, base::Duration timeout,
                             size_t answer_bytes)
    : reactor_(reactor),
      address_(std::move(address)),
      timeout_(timeout),
      answer_bytes_(answer_bytes) {}

HaproxyClient::~HaproxyClient() { close(); }

void HaproxyClient::run(const std::vector<std::string>& commands, Done done) {
  Batch batch{.commands = commands.size(), .bytes = "prompt\n", .done = std::move(done)};
  for (const std::string& command : commands) {
    if (command.empty() || command.find_first_of("\n;") != std::string::npos) {
      batch.is_refused = true;
      batch.refused = HaproxyErrc::kUnsafe;
    }
    batch.bytes += command;
    batch.bytes += '\n';
  }
  batch.bytes += "quit\n";
  if (batches_.size() >= kMaxWaiting) {
    batch.is_refused = true;
    batch.refused = HaproxyErrc::kBusy;
    batch.bytes.clear();
  }
  batches_.push_back(std::move(batch));
  if (!active_ && !armed()) {
    reactor_.timers().arm(*this, reactor_.now());  // begins outside of this call
  }
}

void HaproxyClient::begin() {
  if (batches_.empty()) {
    return;
  }
  active_ = true;
  written_ = 0;
  received_.clear();
  const Batch& batch = batches_.front();
  if (batch.is_refused) {
    fail(batch.refused, batch.refused == HaproxyErrc::kBusy
                            ? "too many commands wait"
                            : "a command has a line break or a semicolon, or is empty");
    return;
  }
  counters_.batches.add();
  counters_.commands.add(batch.commands);
  if (connect()) {
    reactor_.timers().arm(*this, reactor_.refresh() + timeout_);
  }
}

bool HaproxyClient::connect() {
  sockaddr_storage address{};
  const socklen_t length = read_address(address_, address);
  if (length == 0) {
    fail(HaproxyErrc::kNoListener, "is neither a socket's path nor ADDRESS:PORT");
    return false;
  }
  socket_.reset(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_ || (::connect(socket_.fd(), reinterpret_cast<sockaddr*>(&address), length) != 0 &&
                   errno != EINPROGRESS)) {
    const int number = errno;
    fail(error_of(number), std::generic_category().message(number));
    return false;
  }
  counters_.connects.add();
  reactor_.add(socket_.fd(), EPOLLIN | EPOLLOUT, *this);
  return true;
}

void HaproxyClient::on_timer(base::Instant /*now*/) {
  if (active_) {
    fail(HaproxyErrc::kTimeout, fmt::format("no answer in {} ms", base::to_ms(timeout_)));
  } else {
    begin();
  }
}

void HaproxyClient::on_ready(uint32_t epoll_events) {
  int number = 0;
  socklen_t size = sizeof number;
  if (::getsockopt(socket_.fd(), SOL_SOCKET, SO_ERROR, &number, &size) == 0 && number != 0) {
    fail(written_ == 0 ? error_of(number) : HaproxyErrc::kLost,
         std::generic_category().message(number));
    return;
  }
  if ((epoll_events & EPOLLOUT) != 0) {
    write();
  }
  if (active_ && socket_ && (epoll_events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP)) != 0) {
    read();
  }
}

void HaproxyClient::write() {
  const std::string& bytes = batches_.front().bytes;
  while (written_ < bytes.size()) {
    const auto sent =
        ::send(socket_.fd(), bytes.data() + written_, bytes.size() - written_, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno != EAGAIN && errno != EINTR) {
        return;  // what was said before is read yet; the end of reading tells
      }
      return;
    }
    written_ += static_cast<size_t>(sent);
  }
  reactor_.change(socket_.fd(), EPOLLIN, *this);
}

void HaproxyClient::read() {
  constexpr size_t kChunk = size_t{64} << 10;
  while (true) {
    const size_t had = received_.size();
    received_.resize(had + kChunk);
    const auto got = ::recv(socket_.fd(), received_.data() + had, kChunk, 0);
    const int number = errno;
    received_.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && (number == EAGAIN || number == EINTR)) {
      return;
    }
    if (got <= 0) {
      finish_reading();
      return;
    }
    if (received_.size() > answer_bytes_) {
      fail(HaproxyErrc::kTooLarge, "answered more than is read");
      return;
    }
  }
}

/// HAProxy has closed: a prompt for each command, and two more, or it ended early.
void HaproxyClient::finish_reading() {
  std::vector<std::string> answers;
  std::string_view rest = received_;
  size_t prompts = 0;
  for (size_t at = rest.find(kPrompt); at != std::string_view::npos; at = rest.find(kPrompt)) {
    if (prompts++ > 0) {
      answers.push_back(without_line_ends(rest.substr(0, at)));
    }
    rest.remove_prefix(at + kPrompt.size());
  }
  const size_t wanted = batches_.front().commands;
  if (answers.size() != wanted) {
    fail(HaproxyErrc::kLost, fmt::format("ended after {} of {} answers", answers.size(), wanted));
    return;
  }
  finish(answers);
}

void HaproxyClient::fail(HaproxyErrc error, std::string_view why) {
  counters_.failed[static_cast<size_t>(error)].add();
  finish(std::unexpected(HaproxyFailure{
      .error = error, .text = fmt::format("{}: {}: {}", address_, to_string(error), why)}));
}

void HaproxyClient::finish(const HaproxyAnswers& answers) {
  close();
  Batch batch = std::move(batches_.front());
  batches_.pop_front();
  cancel();
  active_ = false;
  if (!batches_.empty()) {
    reactor_.timers().arm(*this, reactor_.now());
  }
  batch.done(answers);  // last: it may destroy what it likes but us
}

void HaproxyClient::close() {
  if (socket_) {
    reactor_.remove(socket_.fd(), *this);
    socket_.reset();
  }
}

}  // namespace spillway::adapters
