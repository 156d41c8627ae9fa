// What an agent costs the machine it stands on.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent_process.h"
#include "agent/packets.h"
#include "agent/served_process.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

constexpr int kPeers = 20;
constexpr int kWarmUpS = 4;
constexpr int kMeasuredS = 12;
constexpr double kMostShare = 0.002;  // of a core
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Cost {
  double share = 0;  ///< Of a core.
  double wakes = 0;  ///< A second.
};

double cpu_seconds(pid_t pid) {
  double total_ns = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::ifstream file(thread.path() / "schedstat");
    double spent = 0;
    file >> spent;
    total_ns += spent;
  }
  return total_ns / 1e9;
}

/// The number behind the lines of a file that begin with `key`, summed.
double sum_of_lines(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  double sum = 0;
  for (std::string line; std::getline(file, line);) {
    sum += line.starts_with(key) ? std::atof(line.c_str() + key.size()) : 0;
  }
  return sum;
}

double private_mib(pid_t pid) {
  const auto path = fmt::format("/proc/{}/smaps_rollup", pid);
  return (sum_of_lines(path, "Private_Clean:") + sum_of_lines(path, "Private_Dirty:")) / 1024;
}

/// Times that its main thread waited and was woken.
double wakes(pid_t pid) {
  return sum_of_lines(fmt::format("/proc/{}/status", pid), "voluntary_ctxt_switches:");
}

/// Peers' sockets, so that what the agent sends arrives somewhere as it would.
class Receivers {
 public:
  Receivers() {
    for (int i = 0; i < kPeers; ++i) {
      sockets_.emplace_back(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      ::bind(sockets_.back().value(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
      socklen_t size = sizeof address;
      ::getsockname(sockets_.back().value(), reinterpret_cast<sockaddr*>(&address), &size);
      list_ += fmt::format("{}\"127.0.0.1:{}\"", i == 0 ? "" : ", ", ntohs(address.sin_port));
    }
  }

  [[nodiscard]] const std::string& list() const { return list_; }

 private:
  std::vector<Fd> sockets_;
  std::string list_;
};

/// What a thread costs that wakes five times a second and does one system call: the machine's price
/// of a wake-up. Microseconds each.
double microseconds_of_a_wake() {
  double spent_us = 0;
  std::thread sleeper([&] {
    timespec before{};
    timespec after{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    constexpr int kWakes = 15;
    for (int i = 0; i < kWakes; ++i) {
      ::poll(nullptr, 0, 200);
      (void)::getppid();
    }
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    spent_us = (static_cast<double>(after.tv_sec - before.tv_sec) * 1e6 +
                static_cast<double>(after.tv_nsec - before.tv_nsec) / 1e3) /
               kWakes;
  });
  sleeper.join();
  return spent_us;
}

TEST(AgentCost, IsNextToNothingWithTwentyPeersEachSecond) {
  ServedProcess server;
  server.successes = 1'000;
  server.work(2'000, 0.5);
  const Receivers receivers;
  const auto port = free_port(SOCK_DGRAM);
  const AgentProcess agent("a", "",
                           fmt::format("law: {{ period: 1s }}\nload: {{ url: \"{}\" }}\n"
                                       "peers: {{ listen: \"127.0.0.1:{}\", list: [{}] }}\n",
                                       server.load_url(), port, receivers.list()));
  ASSERT_TRUE(agent.started()) << agent.log();
  // Twenty peers' samples, each at its own time, and one poll a second, for `seconds`.
  const auto live = [&](int from, int seconds) {
    for (int second = from; second < from + seconds; ++second) {
      for (int peer = 0; peer < kPeers; ++peer) {
        send_datagram(port,
                      packet(fmt::format("p{}", peer), 0.5, static_cast<uint64_t>(second) + 1));
        ::poll(nullptr, 0, 1'000 / kPeers);
      }
      EXPECT_TRUE(agent.poll().starts_with("up"));
    }
  };
  live(0, kWarmUpS);
  Cost cost;
  for (int attempt = 0; attempt < 2 && (attempt == 0 || cost.share > kMostShare); ++attempt) {
    const auto start = Clock::now();
    const double cpu_before = cpu_seconds(agent.pid());
    const double wakes_before = wakes(agent.pid());
    live(kWarmUpS + attempt * kMeasuredS, kMeasuredS);
    const double wall_s = std::chrono::duration<double>(Clock::now() - start).count();
    cost = {.share = (cpu_seconds(agent.pid()) - cpu_before) / wall_s,
            .wakes = (wakes(agent.pid()) - wakes_before) / wall_s};
    EXPECT_EQ(agent.metric("spillway_agent_peers_live"), kPeers);
    std::printf(
        "agent: %.3f %% of a core (bar: 0.2) over %.1f s, %.1f wakes a second of %.0f us each (a "
        "bare one: %.0f us), %.1f MiB private (bar: 10)\n",
        100 * cost.share, wall_s, cost.wakes, 1e6 * cost.share / cost.wakes,
        microseconds_of_a_wake(), private_mib(agent.pid()));
  }
  // The tick, the server's answer and the poll; one more for good measure.
  EXPECT_LE(cost.wakes, 5);
  if (!kSanitized) {
    EXPECT_LE(cost.share, kMostShare);
    EXPECT_LE(private_mib(agent.pid()), 10);
  }
}

}  // namespace
}  // namespace spillway::e2e
