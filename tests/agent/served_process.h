#pragma once

// For tests only: what an agent stands beside.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include <fmt/core.h>
#include <unistd.h>

#include "agent/stand_in.h"
#include "e2e/sockets.h"
#include "net/http.h"

namespace spillway::e2e {

/// A served process: any path is answered 200 and counted, /load tells, /ready is the gate. Its
/// processor time is what the test says: a tree of files for `cpu.proc_root`.
class ServedProcess {
 public:
  ServedProcess() {
    char name[] = "/tmp/spillway_served_XXXXXX";
    folder_ = ::mkdtemp(name);
    tell_cpu(0, 100);
  }

  ServedProcess(const ServedProcess&) = delete;
  ServedProcess& operator=(const ServedProcess&) = delete;

  ~ServedProcess() {
    ::unlink((folder_ + "/stat").c_str());
    ::rmdir(folder_.c_str());
  }

  [[nodiscard]] uint16_t port() const { return http_.port(); }

  [[nodiscard]] std::string load_url() const {
    return fmt::format("http://127.0.0.1:{}/load", port());
  }

  [[nodiscard]] std::string ready_url() const {
    return fmt::format("http://127.0.0.1:{}/ready", port());
  }

  [[nodiscard]] const std::string& proc_root() const { return folder_; }

  /// Clock ticks of /proc/stat since the start. Replaced at once: nobody reads a half.
  void tell_cpu(uint64_t used, uint64_t idle) const {
    const auto next = folder_ + "/next";
    std::ofstream(next) << fmt::format("cpu {} 0 0 {} 0 0 0 0\ncpu0 0 0 0 0\n", used, idle);
    ::rename(next.c_str(), (folder_ + "/stat").c_str());
  }

  /// From now on it works as if it had `at_s` successes a second for so much of its processor. Time
  /// goes by when it is asked for its counts, so that both are of the same moment.
  void work(double at_s, double of_processor) {
    http_.sync([&] {
      per_second_ = at_s;
      utilization_ = of_processor;
      worked_at_ = started_at_ = Clock::now();
    });
  }

  std::atomic<double> successes{0}, failures{0}, in_flight{0}, p95_ms{0};
  std::atomic<bool> ready{true}, tells{true};
  std::atomic<uint64_t> served{0};

 private:
  net::Response answer(const net::Request& request) {
    if (request.path() == "/ready") {
      return {.status = static_cast<uint16_t>(ready ? 200 : 503), .body = "ok\n"};
    }
    if (request.path() != "/load") {
      ++served;
      return {.status = 200, .content_type = "text/plain", .body = "ok\n"};
    }
    if (!tells) {
      return {.status = 503};
    }
    if (per_second_ > 0) {
      go_on();
    }
    return {
        .status = 200,
        .content_type = "application/json",
        .body = fmt::format(
            R"({{"requests":{},"successes":{},"failures":{},"in_flight":{},"limit":100,"p95_ms":{}}})",
            successes + failures + in_flight, successes.load(), failures.load(), in_flight.load(),
            p95_ms.load())};
  }

  void go_on() {
    const auto now = Clock::now();
    const double step_s = std::chrono::duration<double>(now - worked_at_).count();
    const double all_s = std::chrono::duration<double>(now - started_at_).count();
    worked_at_ = now;
    // A load that moves: a sensor that said the same each time would be thought dead.
    const double moves = 1 + 0.02 * static_cast<double>(asked_++ % 3);
    used_s_ += utilization_ * moves * step_s;
    successes = successes + per_second_ * moves * step_s;
    // 10 000 ticks a second, so that the windows of tests are not coarse.
    tell_cpu(static_cast<uint64_t>(used_s_ * 1e4),
             100 + static_cast<uint64_t>((all_s - used_s_) * 1e4));
  }

  std::string folder_;
  double per_second_ = 0, utilization_ = 0, used_s_ = 0;
  uint64_t asked_ = 0;
  Clock::time_point started_at_, worked_at_;
  HttpStandIn http_{[this](const net::Request& request) { return answer(request); }};  // the last
};

}  // namespace spillway::e2e
