// For the farm's tests: a farm on a thread of its own, and a client that sees the wire.
#pragma once

#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "app/dsp/farm.h"
#include "app/dsp/farm_config.h"
#include "base/time.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "workload/fault.h"
#include "workload/partner.h"

namespace spillway::app {

inline constexpr std::string_view kRequest =
    R"({"id":"r-1","imp":[{"id":"i1","banner":{"w":300,"h":250}}]})";

/// A farm of one DSP on its own thread.
class RunningFarm {
 public:
  explicit RunningFarm(std::vector<workload::Fault> faults, base::Duration latency = {})
      : RunningFarm(config(std::move(faults), latency)) {}

  /// A template so that `{}` means no faults.
  template <std::same_as<FarmConfig> Config>
  explicit RunningFarm(const Config& config)
      : reactor_(clock_), farm_(reactor_, config, clock_.now()) {
    EXPECT_EQ(farm_.error(), "");
    thread_ = std::thread([this] { reactor_.run(); });
  }

  ~RunningFarm() {
    reactor_.stop();
    thread_.join();
  }

  [[nodiscard]] uint16_t port() const { return farm_.dsps()[0]->port(); }

  [[nodiscard]] const workload::PartnerAccount& account() const {
    return farm_.dsps()[0]->partner().account();
  }

  /// Runs `work` on the farm's thread, to its end.
  template <typename Work>
  void on_thread(Work work) {
    std::promise<void> done;
    reactor_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().get();
  }

  /// Only on the farm's thread.
  void inject(const workload::Fault& fault) {
    auto& dsp = *farm_.dsps()[0];
    ASSERT_TRUE(dsp.partner().faults().inject(fault, reactor_.now(), base::Duration::max()));
    dsp.follow_faults(reactor_.now());
  }

  /// What the admin listener would answer.
  std::string admin(std::string_view method, std::string_view target, std::string_view body = "") {
    std::promise<std::string> answered;
    reactor_.post([&] {
      net::Request request;
      request.method = method;
      request.target = target;
      request.body = body;
      const auto response = farm_.answer(request);
      answered.set_value(std::to_string(response.status) + " " + response.body);
    });
    return answered.get_future().get();
  }

  static FarmConfig config(std::vector<workload::Fault> faults, base::Duration latency) {
    FarmConfig config;
    config.dsps.emplace_back();
    auto& partner = config.dsps[0].partner;
    partner.style.name = "alpha";
    partner.style.bid_ratio = 1;
    partner.latency = workload::Latency::constant(latency);
    partner.faults = std::move(faults);
    return config;
  }

 private:
  net::OsClock clock_;
  net::Reactor reactor_;
  Farm farm_;
  std::thread thread_;
};

/// A client that sees what is on the wire.
class RawClient {
 public:
  explicit RawClient(uint16_t port, uint32_t host = INADDR_LOOPBACK)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    wait_at_most(std::chrono::seconds(5));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(host);
    error_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  }

  ~RawClient() { ::close(fd_); }

  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void wait_at_most(std::chrono::microseconds time) const {
    const timeval limit{.tv_sec = time.count() / 1'000'000, .tv_usec = time.count() % 1'000'000};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }

  void send(std::string_view body = kRequest) const {
    const std::string bytes =
        "POST /bid HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + std::string(body);
    ASSERT_EQ(TEMP_FAILURE_RETRY(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL)),
              static_cast<ssize_t>(bytes.size()));
  }

  /// What one read gives; `error()` says why when it is "".
  std::string read() {
    std::string bytes(64 * 1024, '\0');
    const ssize_t got = TEMP_FAILURE_RETRY(::recv(fd_, bytes.data(), bytes.size(), 0));
    error_ = got < 0 ? errno : 0;
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }

  /// Header and body of one answer, as its Content-Length says.
  std::string read_answer() {
    std::string all;
    while (true) {
      const size_t end = all.find("\r\n\r\n");
      if (end != std::string::npos) {
        const size_t length = all.find("Content-Length: ");
        const size_t body =
            length < end ? std::stoul(all.substr(length + sizeof("Content-Length: ") - 1)) : 0;
        if (all.size() >= end + 4 + body) {
          return all;
        }
      }
      const std::string more = read();
      if (more.empty()) {
        return all;
      }
      all += more;
    }
  }

  [[nodiscard]] int error() const { return error_; }

  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
  int error_ = 0;
};

}  // namespace spillway::app
