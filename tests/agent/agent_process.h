#pragma once

// For tests only: the agent as a program, and what stands around it.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "e2e/exchange_process.h"
#include "e2e/sockets.h"
#include "net/test_kit.h"

namespace spillway::e2e {

using namespace std::chrono_literals;

/// Asks again every 10 ms until it holds; false after `patience`.
inline bool becomes(const std::function<bool()>& condition,
                    std::chrono::milliseconds patience = 15s) {
  const auto end = Clock::now() + patience;
  while (!condition()) {
    if (Clock::now() >= end) {
      return false;
    }
    ::poll(nullptr, 0, 10);
  }
  return true;
}

/// A port that nobody was bound to a moment ago.
inline uint16_t free_port(int type) {
  const int fd = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

inline constexpr const char* kFleetKey = "0123456789abcdef0123456789abcdef";

/// A running `spillway agent`; killed at the end when it has not ended.
class AgentProcess {
 public:
  /// `agent_keys` go into the section `agent`, beside id, key and listen; `more` are other
  /// sections. Port 0: a free one.
  AgentProcess(std::string_view id, std::string_view agent_keys, std::string_view more,
               uint16_t port = 0)
      : config_(fmt::format("agent: {{ id: {}, key: \"{}\", listen: \"127.0.0.1:{}\"{}{} }}\n"
                            "admin: {{ listen: \"127.0.0.1:0\" }}\n{}",
                            id, kFleetKey, port, agent_keys.empty() ? "" : ", ", agent_keys,
                            more)) {
    int out[2];
    if (::pipe2(out, O_CLOEXEC) != 0) {
      return;
    }
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      const int log = ::open(log_.path().c_str(), O_WRONLY | O_APPEND);
      ::dup2(log, STDERR_FILENO);
      ::execl(SPILLWAY_BINARY_DIR "/libexec/spillway-agent", "spillway-agent", "--config",
              config_.path().c_str(), nullptr);
      ::_exit(127);
    }
    ::close(out[1]);
    out_ = Fd(out[0]);
    std::string line;
    while (line.find('\n') == std::string::npos && read_some(line)) {
    }
    poll_port_ = port_after(line, "listen=");
    admin_port_ = port_after(line, "admin=");
  }

  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  ~AgentProcess() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  [[nodiscard]] bool started() const { return poll_port_ != 0; }

  [[nodiscard]] uint16_t port() const { return poll_port_; }

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// `from` becomes `to` in its file, which it is not told of.
  void edit(std::string_view from, std::string_view to) {
    std::ifstream file(config_.path());
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (const auto at = text.find(from); at != std::string::npos) {
      config_.write(text.replace(at, from.size(), to));
    }
  }

  /// What HAProxy would be told now.
  [[nodiscard]] std::string poll() const {
    return net::testing::RawSocket::to(poll_port_).receive_all();
  }

  [[nodiscard]] Caller admin() const { return {.port = admin_port_, .extra_headers = ""}; }

  [[nodiscard]] std::string status() const { return admin().call("GET", "/status").body; }

  [[nodiscard]] std::string metrics() const { return admin().call("GET", "/metrics").body; }

  /// One series, labels as written; -1 when it is not there.
  [[nodiscard]] double metric(const std::string& series) const {
    const std::string page = "\n" + metrics();
    const auto at = page.find("\n" + series + " ");
    return at == std::string::npos ? -1 : std::atof(page.c_str() + at + series.size() + 2);
  }

  [[nodiscard]] bool order(const std::string& path) const {
    return admin().call("POST", path).status() == 200;
  }

  void signal(int number) const { ::kill(pid_, number); }

  [[nodiscard]] std::string log() const {
    std::ifstream file(log_.path());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// The exit status, -1 when it does not end in time.
  int wait(std::chrono::milliseconds patience = 15s) {
    const Fd watch(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    pollfd ended{.fd = watch.value(), .events = POLLIN, .revents = 0};
    if (TEMP_FAILURE_RETRY(::poll(&ended, 1, static_cast<int>(patience.count()))) <= 0) {
      return -1;
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  static uint16_t port_after(const std::string& line, std::string_view name) {
    const size_t at = line.find(name);
    const size_t colon = at == std::string::npos ? at : line.find(':', at);
    return colon == std::string::npos ? uint16_t{0}
                                      : static_cast<uint16_t>(std::atoi(line.c_str() + colon + 1));
  }

  bool read_some(std::string& into) {
    pollfd ready{.fd = out_.value(), .events = POLLIN, .revents = 0};
    std::array<char, 512> bytes{};
    const ssize_t got = TEMP_FAILURE_RETRY(::poll(&ready, 1, 20'000)) == 1
                            ? TEMP_FAILURE_RETRY(::read(out_.value(), bytes.data(), bytes.size()))
                            : 0;
    into.append(bytes.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return got > 0;
  }

  TemporaryFile config_, log_;
  Fd out_;
  pid_t pid_ = -1;
  uint16_t poll_port_ = 0, admin_port_ = 0;
};

}  // namespace spillway::e2e
