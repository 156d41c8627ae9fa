#include "observe/supervisor.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/time.h"
#include "net/stream.h"

namespace spillway::observe {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

/// A supervisor's socket.
class Listening {
 public:
  explicit Listening(std::string name) : name_(std::move(name)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    if (name_[0] == '@') {
      address.sun_path[0] = '\0';
    }
    socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(socket_.fd(), reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size())),
              0);
  }

  ~Listening() {
    if (name_[0] == '/') {
      ::unlink(name_.c_str());
    }
  }

  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  /// The next datagram; empty when there is none.
  [[nodiscard]] std::string next() const {
    std::array<char, 512> bytes{};
    const auto size = TEMP_FAILURE_RETRY(::recv(socket_.fd(), bytes.data(), bytes.size(), 0));
    return size <= 0 ? "" : std::string(bytes.data(), static_cast<size_t>(size));
  }

 private:
  std::string name_;
  net::UniqueFd socket_;
};

std::string own_name(const char* prefix) {
  return fmt::format("{}spillway-notify-test-{}", prefix, ::getpid());
}

TEST(Supervisor, IsToldEveryChangeByPathAndByAbstractName) {
  for (const char* prefix : {"/tmp/", "@"}) {
    const Listening systemd(own_name(prefix));
    Supervisor supervisor({.address = own_name(prefix)});
    ASSERT_EQ(supervisor.error(), "");
    EXPECT_EQ(systemd.next(), "");
    supervisor.ready();
    EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=serving");
    supervisor.reloading(base::Instant(12'345'678us));
    EXPECT_EQ(systemd.next(), "RELOADING=1\nMONOTONIC_USEC=12345678\nSTATUS=reloading");
    supervisor.stopping(7s);
    EXPECT_EQ(systemd.next(),
              "STOPPING=1\nSTATUS=answering what is in flight\nEXTEND_TIMEOUT_USEC=7000000");
    supervisor.alive(kStart);
    EXPECT_EQ(systemd.next(), "") << "no watchdog was asked for";
    EXPECT_FALSE(supervisor.watchdog());
  }
}

TEST(Supervisor, HearsTwicePerWatchdogIntervalThatWeLive) {
  const Listening systemd(own_name("@"));
  Supervisor supervisor({.address = own_name("@"), .watchdog = 10s});
  ASSERT_EQ(supervisor.watchdog(), base::Duration(10s));
  int told = 0;
  for (auto now = kStart; now < kStart + 60s; now += 100ms) {
    supervisor.alive(now);
    told += systemd.next() == "WATCHDOG=1" ? 1 : 0;
  }
  EXPECT_EQ(told, 12);
}

TEST(Supervisor, ThatIsNotThereOrWentAwayHurtsNobody) {
  Supervisor none({});
  EXPECT_EQ(none.error(), "");
  none.ready();
  Supervisor missing({.address = "/nonexistent/socket"});
  EXPECT_NE(missing.error().find("/nonexistent/socket"), std::string::npos);
  missing.ready();
  EXPECT_NE(Supervisor({.address = "relative"}).error(), "");
  EXPECT_NE(Supervisor({.address = "/" + std::string(200, 'x')}).error(), "");
  auto systemd = std::make_unique<Listening>(own_name("@"));
  Supervisor left({.address = own_name("@")});
  systemd.reset();
  left.ready();
  left.stopping(1s);
}

TEST(Supervisor, IsNamedByTheEnvironmentAndItsWatchdogIsForOneProcess) {
  const auto read = [](const char* socket, const char* interval, const std::string& pid) {
    ::setenv("NOTIFY_SOCKET", socket, 1);
    ::setenv("WATCHDOG_USEC", interval, 1);
    ::setenv("WATCHDOG_PID", pid.c_str(), 1);
    const auto settings = supervisor_of_environment();
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    ::unsetenv("WATCHDOG_PID");
    return settings;
  };
  const auto own = std::to_string(::getpid());
  EXPECT_EQ(read("@x", "3000000", own).address, "@x");
  EXPECT_EQ(read("@x", "3000000", own).watchdog, base::Duration(3s));
  EXPECT_EQ(read("@x", "3000000", "").watchdog, base::Duration(3s));
  EXPECT_EQ(read("@x", "3000000", "1").watchdog, base::Duration::zero());
  EXPECT_EQ(read("@x", "3000000x", own).watchdog, base::Duration::zero());
  EXPECT_EQ(read("@x", "-1", own).watchdog, base::Duration::zero());
  EXPECT_EQ(supervisor_of_environment().address, "");
}

}  // namespace
}  // namespace spillway::observe
