#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/redis_fixture.h"
#include "adapters/registry.h"
#include "adapters/registry_fixture.h"
#include "adapters/registry_http.h"
#include "net/test_kit.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using testing::instance;
using testing::quick;

/// An etcd of this test's own, on the loopback, killed with it.
class EtcdProcess {
 public:
  EtcdProcess() {
    for (int attempt = 0; attempt < 3 && pid_ <= 0; ++attempt) {
      port_ = testing::free_port();
      peer_port_ = testing::free_port();
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
  testing::ScratchFolder folder_;
  uint16_t port_ = 0;
  uint16_t peer_port_ = 0;
  pid_t pid_ = -1;
};

class RegistryEtcdTest : public testing::RegistryTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.running()) << "etcd does not run: tools/setup check";
  }

  std::unique_ptr<Registry> open(uint32_t confirm_reads = 4) {
    auto settings = quick();
    settings.ttl = 3s;
    settings.confirm_reads = confirm_reads;
    return etcd_registry(reactor_, {.port = server_.port()}, settings);
  }

  EtcdProcess server_;
};

TEST_F(RegistryEtcdTest, MembersComeStayAndGo) {
  auto a = open();
  auto b = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1, "z1", "big"));
  b->announce(instance("b", 2));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a b"; })) << reader->last_error();
  EXPECT_EQ(reader->view().instances[0], instance("a", 1, "z1", "big"));
  ASSERT_TRUE(run_until([&] { return a->counters().renewals.value() >= 4; }));
  EXPECT_EQ(ids(*reader), "a b");
  a->withdraw();
  ASSERT_TRUE(run_until([&] { return a->withdrawn() && ids(*reader) == "b"; }));
}

TEST_F(RegistryEtcdTest, AMemberThatDiesLeavesWithItsLease) {
  auto a = open();
  auto b = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  b->announce(instance("b", 2));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a b"; }));
  b.reset();
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
}

TEST_F(RegistryEtcdTest, AnExpiredLeaseIsGrantedAnew) {
  auto a = open();
  auto reader = open(200);
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  const std::string leases = server_.post("/v3/lease/leases", "{}");
  const size_t at = leases.find("\"ID\":\"");
  ASSERT_NE(at, std::string::npos) << leases;
  const std::string id = leases.substr(at + 6, leases.find('"', at + 6) - at - 6);
  (void)server_.post("/v3/lease/revoke", "{\"ID\":\"" + id + "\"}");
  ASSERT_TRUE(run_until([&] { return a->counters().lost.value() == 1 && a->announced(); }));
  EXPECT_EQ(ids(*reader), "a");
  ASSERT_TRUE(run_until([&] { return !reader->held_size(); }));
  EXPECT_EQ(ids(*reader), "a");
}

TEST_F(RegistryEtcdTest, TheSetSurvivesARestartOfEtcd) {
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  server_.kill();
  ASSERT_TRUE(run_until([&] {
    return reader->counters()
               .read_errors[static_cast<size_t>(RegistryErrc::kUnreachable)]
               .value() >= 2;
  }));
  EXPECT_EQ(ids(*reader), "a");
  server_.start();
  ASSERT_TRUE(server_.running());
  const uint64_t before = reader->counters().reads.value();
  ASSERT_TRUE(run_until([&] { return reader->counters().reads.value() > before + 6; }));
  EXPECT_EQ(ids(*reader), "a");
}

}  // namespace
}  // namespace spillway::adapters
