// The overload bar: what is served at 1.5, 2 and 3 times the capacity, beside what is left when
// every refusal costs r of a served request. The exchange has a CPU quota of its own; capacity, r
// and goodput are of one run.
//
//   overload_bar [seconds a step, 5] [seconds capacity is held, 30]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "e2e/bad_day.h"
#include "e2e/cpu_quota.h"
#include "e2e/load_report.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

constexpr double kShare = 0.5;  // of one processor
constexpr auto kPeriod = 5ms;   // short: a longer one is a queue of its own
constexpr const char* kShed = "spillway_exchange_shed_total";

std::vector<BadDay::Dsp> five_dsps() {
  std::vector<BadDay::Dsp> dsps;
  for (int i = 0; i < 5; ++i) {
    dsps.push_back({.name = fmt::format("dsp{}", i),
                    .more = ", bid_rate: 1, latency: { kind: constant, value: 20ms }"});
  }
  return dsps;
}

/// CPU time of all threads of a process.
Seconds cpu_of(pid_t pid) {
  double ns = 0;
  std::error_code ignored;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
    std::ifstream account(task.path() / "schedstat");
    double ran = 0;
    account >> ran;
    ns += ran;
  }
  return Seconds(ns * 1e-9);
}

double resident_mib(pid_t pid) {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  double size = 0;
  double resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// What came of one rate.
struct Step {
  double rate = 0;
  double offered = 0;  ///< Arrivals a second that the generator sent.
  double served = 0;   ///< Answers with a DSP's bid, a second.
  double shed = 0;     ///< Requests shed, a second.
  double misses = 0;   ///< Deadline misses.
  double starved = 0;  ///< Misses while a thread was kept from a processor.
  double pauses = 0;
  double cpu_us = 0;      ///< CPU time a request.
  double late_ratio = 0;  ///< Of the generator's arrivals, late or dropped.
  double p99_ms = 0;
  double resident = 0;  ///< MiB at the end.

  [[nodiscard]] bool is_held() const {
    return misses == 0 && shed <= 0.001 * offered && served >= 0.95 * offered;
  }
};

/// An exchange among five DSPs.
class Bench {
 public:
  explicit Bench(std::string_view yaml) : day_(five_dsps(), yaml) {}

  [[nodiscard]] BadDay& day() { return day_; }

  Step run(double rate, Seconds length) {
    const pid_t pid = day_.exchange().pid();
    const auto once = [](const Metrics&) { return true; };
    (void)day_.until(5s, once);
    const Metrics before = day_.last_scrape();
    const double misses = day_.misses();
    const double starved = day_.excused_misses();
    const Seconds cpu = cpu_of(pid);
    const auto began = Clock::now();
    day_.start_load(static_cast<int>(rate), "--connections 12000 --timeout 1s --poisson");
    (void)day_.until(std::chrono::duration_cast<std::chrono::milliseconds>(length) + 5s,
                     [&](const Metrics&) { return Clock::now() - began >= length; });
    const Seconds took = Clock::now() - began;
    const auto report = day_.end_load();
    const auto all = std::min(report.size(), report.rfind("latency_ms"));
    const Seconds used = cpu_of(pid) - cpu;
    (void)day_.until(5s, once);
    const Metrics after = day_.last_scrape();
    const auto grown = [&](std::string_view name, const std::vector<std::string>& parts = {}) {
      return sum_of(after, name, parts) - sum_of(before, name, parts);
    };
    const auto requests = static_cast<double>(number(report, "ended"));
    const auto offered = static_cast<double>(number(report, "offered"));
    return {.rate = rate,
            .offered = offered / took.count(),
            .served = static_cast<double>(number(report, "bid")) / took.count(),
            .shed = grown(kShed) / took.count(),
            .misses = day_.misses() - misses,
            .starved = day_.excused_misses() - starved,
            .pauses = grown("spillway_exchange_server_events_total", {"\"read_pause\""}),
            .cpu_us = 1e6 * used.count() / std::max(1.0, requests),
            .late_ratio = static_cast<double>(number(report, "dropped") + number(report, "late")) /
                          std::max(1.0, offered),
            .p99_ms = static_cast<double>(number(report.substr(all), "p99")),
            .resident = resident_mib(pid)};
  }

 private:
  BadDay day_;
};

void print(std::string_view what, const Step& step) {
  std::printf(
      "%-12.*s %6.0f/s  served %6.0f/s  shed %6.0f/s  misses %.0f (+%.0f starved)  pauses %.0f  "
      "CPU %.0f us a request  p99 %.0f ms  %.1f MiB  generator late or dropped %.1f %%\n",
      static_cast<int>(what.size()), what.data(), step.offered, step.served, step.shed, step.misses,
      step.starved, step.pauses, step.cpu_us, step.p99_ms, step.resident, 100 * step.late_ratio);
  std::fflush(stdout);
}

/// CPU time of a refusal, at once and unread: two auctions that hang leave no place for any other.
double refusal_us(Seconds length, double rate) {
  Bench bench(
      "timing: { tmax_max: 60s }\n"
      "shedding: { level_1: { in_flight: 1 }, level_2: { in_flight: 1 }, refusing_ratio_max: 1 "
      "}\n");
  auto& day = bench.day();
  if (!day.error().empty()) {
    std::printf("%s\n", day.error().c_str());
    return -1;
  }
  for (int i = 0; i < 5; ++i) {
    (void)day.inject(fmt::format("dsp{}", i), R"({"kind":"hang"})");
  }
  const std::string request =
      R"({"id":"r","tmax":60000,"imp":[{"id":"1","banner":{"w":300,"h":250}}]})";
  std::vector<Fd> waiting;
  for (int i = 0; i < 2; ++i) {
    waiting.push_back(connect_to(day.exchange().auction().port, 60s));
    send_all(waiting.back().value(),
             fmt::format("POST /openrtb2/auction HTTP/1.1\r\nHost: h\r\nContent-Type: "
                         "application/json\r\nContent-Length: {}\r\n\r\n{}",
                         request.size(), request));
  }
  (void)day.until(10s, [](const Metrics& now) {
    return sum_of(now, "spillway_exchange_in_flight_auctions") == 2;
  });
  const Step step = bench.run(rate, length);
  print("refusals", step);
  return step.cpu_us;
}

/// The highest rate found that is held; bisection, then `hold`.
double capacity_of(Bench& bench, Seconds step_length, Seconds hold) {
  double low = 0;
  double high = kShare * 1e6 / bench.run(300, step_length).cpu_us;
  for (int i = 0; i < 5; ++i) {
    const double rate = low == 0 ? 0.8 * high : (low + high) / 2;
    const Step step = bench.run(rate, step_length);
    print(step.is_held() ? "held" : "not held", step);
    (step.is_held() ? low : high) = rate;
  }
  for (int i = 0; i < 6 && low > 0; ++i) {
    const Step step = bench.run(low, hold);
    print(step.is_held() ? "capacity" : "not held", step);
    if (step.is_held()) {
      return low;
    }
    low *= 0.93;
  }
  return low;
}

int measure(Seconds step_length, Seconds hold) {
  const CpuQuota quota(kShare, kPeriod);
  if (!quota.error().empty()) {
    std::printf("skipped: %s\n", quota.error().c_str());
    return 0;
  }
  Bench bench("");
  if (!bench.day().error().empty() || !quota.take_in(bench.day().exchange().pid())) {
    std::printf("skipped: %s; or the exchange was not let in\n", bench.day().error().c_str());
    return 0;
  }
  (void)bench.run(200, step_length);  // warm
  const double capacity = capacity_of(bench, step_length, hold);
  if (capacity <= 0) {
    std::printf("skipped: no rate was held; the machine is too busy\n");
    return 0;
  }
  const Step served = bench.run(capacity / 2, step_length);
  print("served", served);
  const double refusal = refusal_us(step_length, capacity);
  const double r = refusal / served.cpu_us;
  std::printf(
      "capacity %.0f/s with %.0f %% of a processor; served %.0f us, refused %.0f us: r %.3f "
      "(bar: at most 0.2)\n",
      capacity, 100 * kShare, served.cpu_us, refusal, r);
  for (const double m : {1.5, 2.0, 3.0}) {
    const Step step = bench.run(m * capacity, 2 * step_length);
    print(fmt::format("{} x", m), step);
    const double left = std::max(0.0, (1 - m * r) / (1 - r));
    std::printf(
        "  m %.1f: goodput %.2f of capacity; (1 - m r)/(1 - r) = %.2f; ratio %.2f (bar: at "
        "least 0.9)\n",
        m, step.served / capacity, left, left > 0 ? step.served / capacity / left : 0);
  }
  return bench.day().exchange().stop();
}

}  // namespace
}  // namespace spillway::e2e

int main(int argc, char** argv) {
  const auto seconds = [&](int index, double otherwise) {
    return std::chrono::duration<double>(argc > index ? std::atof(argv[index]) : otherwise);
  };
  return spillway::e2e::measure(seconds(1, 5), seconds(2, 30));
}
