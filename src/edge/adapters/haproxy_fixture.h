#pragma once

// For tests only: a real HAProxy on sockets of the test's own folder, agents and back ends that
// the test speaks through.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/redis_fixture.h"
#include "net/stream.h"
#include "net/test_kit.h"

namespace spillway::adapters::testing {

/// A blocking connection to a UNIX socket; not connected when nobody listens.
inline net::testing::RawSocket connect_local(const std::string& path) {
  net::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    fd.reset();
  }
  return net::testing::RawSocket(std::move(fd));
}

/// haproxy(1) in the foreground, killed with the test. Its stats socket is `socket()`, the front
/// end of `section` should bind `front()`.
class HaproxyProcess {
 public:
  /// Without a program: not running. `section`: the text behind the defaults.
  explicit HaproxyProcess(std::string section, std::string defaults = {})
      : section_(std::move(section)), defaults_(std::move(defaults)) {
    start();
  }

  HaproxyProcess(const HaproxyProcess&) = delete;
  HaproxyProcess& operator=(const HaproxyProcess&) = delete;

  ~HaproxyProcess() { kill(); }

  [[nodiscard]] bool running() const { return pid_ > 0; }

  [[nodiscard]] std::string socket() const { return folder_.path() + "/s"; }

  [[nodiscard]] std::string front() const { return folder_.path() + "/f"; }

  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

  void set_section(std::string section) { section_ = std::move(section); }

  /// One command over a connection of its own; what is answered until the end.
  [[nodiscard]] std::string run(std::string_view command) const {
    auto socket = connect_local(this->socket());
    if (!socket) {
      return "<no connection>";
    }
    socket.send(std::string(command) + "\n");
    return socket.receive_all();
  }

  /// The value of `column` of a server; "" without one.
  [[nodiscard]] std::string stat(std::string_view server, std::string_view column) const {
    const std::string csv = run("show stat");
    size_t wanted = std::string::npos;
    size_t begin = 0;
    while (begin < csv.size()) {
      const size_t end = std::min(csv.find('\n', begin), csv.size());
      const auto fields = split(std::string_view(csv).substr(begin, end - begin));
      if (begin == 0) {
        wanted = static_cast<size_t>(std::ranges::find(fields, column) - fields.begin());
      } else if (fields.size() > wanted && fields[1] == server) {
        return fields[wanted];
      }
      begin = end + 1;
    }
    return {};
  }

  /// This process and those that reloads left.
  void kill() {
    for (const pid_t old : std::exchange(old_, {})) {
      ::kill(old, SIGKILL);
      ::waitpid(old, nullptr, 0);
    }
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }

  /// As `systemctl reload` does: another process takes the listeners over and answers, the one
  /// before ends what it has. False when it does not come up.
  bool reload() {
    old_.push_back(pid_);
    return launch(write_file(), {"-x", socket(), "-sf", std::to_string(pid_)});
  }

  /// Waits until the stats socket answers.
  void start() {
    ::unlink(socket().c_str());
    if (!launch(write_file(), {})) {
      kill();
    }
  }

 private:
  [[nodiscard]] std::string write_file() const {
    std::string file = folder_.path() + "/haproxy.cfg";
    std::string text = "global\n    stats socket " + socket() +
                       " mode 600 level admin expose-fd listeners\n    nbthread 2\n"
                       "defaults\n    mode http\n    timeout connect 1s\n    timeout client 30s\n"
                       "    timeout server 30s\n    timeout check 800ms\n    option redispatch 1\n"
                       "    retries 2\n" +
                       defaults_ + section_;
    for (size_t at = text.find("FRONT"); at != std::string::npos; at = text.find("FRONT")) {
      text.replace(at, 5, "unix@" + front());
    }
    std::ofstream(file) << text;
    return file;
  }

  /// Waits until the new process answers on the stats socket.
  bool launch(std::string file, std::vector<std::string> options) {
    std::vector<std::string> words{"haproxy", "-db", "-f", std::move(file)};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (auto& word : words) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int null = ::open("/dev/null", O_RDWR);
      ::dup2(null, 0);
      ::dup2(null, 1);
      if (::getenv("SPILLWAY_HAPROXY_LOG") == nullptr) {
        ::dup2(null, 2);
      }
      ::execvp("haproxy", arguments.data());
      ::execv("/usr/sbin/haproxy", arguments.data());
      ::_exit(127);
    }
    const std::string pid = "\nPid: " + std::to_string(pid_) + "\n";
    for (int i = 0; i < 1'000; ++i) {
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        return false;
      }
      if (run("show info").contains(pid)) {
        return true;
      }
      ::poll(nullptr, 0, 10);
    }
    return false;
  }

  static std::vector<std::string> split(std::string_view line) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == ',') {
        fields.emplace_back();
      } else if (c != '#' && !(c == ' ' && fields.size() == 1)) {
        fields.back() += c;
      }
    }
    return fields;
  }

  ScratchFolder folder_;
  std::string section_;
  std::string defaults_;
  pid_t pid_ = -1;
  std::vector<pid_t> old_;  ///< Reloaded away; they may still end what they have.
};

/// An agent-check server that says what it is told to, or an HTTP server that says 200, on a free
/// port of the loopback and a thread of its own.
class Speaker {
 public:
  enum class Kind : uint8_t { kAgent, kHttp };

  explicit Speaker(Kind kind, std::string text = "up 100%\n")
      : kind_(kind), text_(std::move(text)), thread_([this] { serve(); }) {}

  Speaker(const Speaker&) = delete;
  Speaker& operator=(const Speaker&) = delete;

  ~Speaker() { stop(); }

  /// As if killed: nobody listens any more.
  void stop() {
    if (thread_.joinable()) {
      ending_ = true;
      thread_.join();
      listener_.close();
    }
  }

  void say(std::string text) {
    const std::scoped_lock lock(mutex_);
    text_ = std::move(text);
  }

  [[nodiscard]] uint16_t port() const { return listener_.port(); }

  /// Connections answered.
  [[nodiscard]] uint64_t answered() const { return answered_; }

 private:
  void serve() {
    while (!ending_) {
      if (!listener_.has_caller()) {
        ::poll(nullptr, 0, 2);
        continue;
      }
      auto socket = listener_.accept();
      if (kind_ == Kind::kHttp) {
        socket.receive();
      }
      const std::scoped_lock lock(mutex_);
      socket.send(kind_ == Kind::kAgent
                      ? text_
                      : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
      ++answered_;
    }
  }

  Kind kind_;
  std::mutex mutex_;
  std::string text_;
  net::testing::RawListener listener_{512};
  std::atomic<bool> ending_{false};
  std::atomic<uint64_t> answered_{0};
  std::thread thread_;
};

/// Whether `condition` comes to hold within `patience`.
template <typename Condition>
bool eventually(Condition condition,
                std::chrono::milliseconds patience = std::chrono::seconds(15)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    ::poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace spillway::adapters::testing
