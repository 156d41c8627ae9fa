#pragma once

// For tests only: a real HAProxy on the loopback.
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent_process.h"
#include "e2e/exchange_process.h"

namespace spillway::e2e {

/// What `show servers state` says of one server.
struct ServerState {
  int operational = -1;  ///< 0: stopped, 2: running.
  int admin = -1;        ///< 0: none, 0x01: maint, 0x08: drain.
  int weight = -1;       ///< Of the user: by agent or command.
};

/// HAProxy with one backend `be` whose servers are polled each 50 ms. Killed at the end.
class HaproxyProcess {
 public:
  struct Server {
    std::string name;
    uint16_t port;
    uint16_t agent_port;
  };

  explicit HaproxyProcess(const std::vector<Server>& servers, std::string_view options = "")
      : socket_(config_.path() + ".sock"), port_(free_port(SOCK_STREAM)) {
    std::string text = fmt::format(
        "global\n    stats socket {} mode 600 level admin\n"
        "defaults\n    mode http\n    timeout connect 1s\n    timeout client 10s\n"
        "    timeout server 10s\n    timeout check 800ms\n    option redispatch 1\n    retries 2\n"
        "    default-server weight 100 check inter 100ms fall 2 rise 1 agent-check "
        "agent-inter 50ms agent-send \"agent/1\\n\" {}\n"
        "listen be\n    bind 127.0.0.1:{}\n    balance roundrobin\n    option httpchk GET "
        "/health\n",
        socket_, options, port_);
    for (const auto& server : servers) {
      text += fmt::format("    server {} 127.0.0.1:{} agent-port {}\n", server.name, server.port,
                          server.agent_port);
    }
    config_.write(text);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, STDOUT_FILENO);
      ::dup2(null, STDERR_FILENO);
      ::execlp("haproxy", "haproxy", "-db", "-f", config_.path().c_str(), nullptr);
      ::_exit(127);
    }
    up_ = becomes([this] { return !command("show info").empty(); }, std::chrono::seconds(10));
  }

  HaproxyProcess(const HaproxyProcess&) = delete;
  HaproxyProcess& operator=(const HaproxyProcess&) = delete;

  ~HaproxyProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::unlink(socket_.c_str());
  }

  /// False where HAProxy is not installed.
  [[nodiscard]] bool up() const { return up_; }

  [[nodiscard]] uint16_t port() const { return port_; }

  [[nodiscard]] Caller caller() const { return {.port = port_, .extra_headers = ""}; }

  /// Of the Runtime API; "" when there is no answer.
  [[nodiscard]] std::string command(const std::string& line) const {
    const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::connect(fd.value(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return {};
    }
    send_all(fd.value(), line + "\n");
    std::string answer;
    while (receive_some(fd.value(), answer)) {
    }
    return answer;
  }

  [[nodiscard]] ServerState state(std::string_view name) const {
    std::istringstream lines(command("show servers state be"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string skipped;
      std::string server;
      ServerState out;
      if (words >> skipped >> skipped >> skipped >> server >> skipped >> out.operational >>
              out.admin >> out.weight &&
          server == name) {
        return out;
      }
    }
    return {};
  }

 private:
  TemporaryFile config_;
  std::string socket_;
  uint16_t port_;
  pid_t pid_ = -1;
  bool up_ = false;
};

}  // namespace spillway::e2e
