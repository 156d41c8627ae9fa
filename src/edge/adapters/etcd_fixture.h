#pragma once

// For tests only: a real etcd.
#include <cstdint>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/redis_fixture.h"
#include "net/test_kit.h"

namespace spillway::adapters::testing {

/// An etcd of this test's own, on the loopback, killed with it.
class EtcdProcess {
 public:
  EtcdProcess() {
    for (int attempt = 0; attempt < 3 && pid_ <= 0; ++attempt) {
      port_ = free_port();
      peer_port_ = free_port();
      start();
    }
  }

  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;

  ~EtcdProcess() { kill(); }

  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }

  void start() {
    const std::string url = "http://127.0.0.1:" + std::to_string(port_);
    const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int null = ::open("/dev/null", O_RDWR);
      ::dup2(null, 0);
      ::dup2(null, 1);
      ::dup2(null, 2);
      const std::string cluster = "default=" + peer;
      ::execlp("etcd", "etcd", "--data-dir", folder_.path().c_str(), "--listen-client-urls",
               url.c_str(), "--advertise-client-urls", url.c_str(), "--listen-peer-urls",
               peer.c_str(), "--initial-advertise-peer-urls", peer.c_str(), "--initial-cluster",
               cluster.c_str(), nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 1'000; ++i) {
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        return;
      }
      if (post("/v3/kv/range", "{\"key\":\"YQ==\"}").find("revision") != std::string::npos) {
        return;
      }
      ::poll(nullptr, 0, 10);
    }
    kill();
  }

  [[nodiscard]] std::string post(const std::string& path, const std::string& body) const {
    auto socket = net::testing::RawSocket::to(port_);
    if (!socket) {
      return {};
    }
    socket.send("POST " + path + " HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    return socket.receive_all();
  }

  [[nodiscard]] bool running() const { return pid_ > 0; }

  [[nodiscard]] uint16_t port() const { return port_; }

 private:
  ScratchFolder folder_;
  uint16_t port_ = 0;
  uint16_t peer_port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace spillway::adapters::testing
