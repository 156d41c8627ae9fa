// CPU of one auction with 5 DSPs over TLS beside the same over plain TCP, in one run: two
// exchanges, one farm of DSPs that bid at once, loads in turn. User and system time of the
// exchange's process alone; the share of calls on kept connections stands beside it.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "e2e/exchange_process.h"
#include "e2e/sockets.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/tls.h"
#include "net/tls_fixture.h"

namespace spillway::tls_cost {
namespace {

using namespace std::chrono_literals;
using e2e::ExchangeProcess;

constexpr int kDsps = 5;

/// Bidders on ports of their own, on one thread, that bid at once; over TLS when there is a
/// certificate.
class Farm {
 public:
  explicit Farm(const net::TlsServerSettings& tls) : reactor_(clock_) {
    for (int i = 0; i < kDsps; ++i) {
      net::ListenerSettings listener;
      if (!tls.certificate_file.empty()) {
        listener.tls = net::TlsServer::make(tls).value_or(nullptr);
      }
      servers_.push_back(
          std::make_unique<net::Server>("127.0.0.1:0", net::ServerLimits{}, worker(), listener));
      servers_.back()->start();
    }
    thread_ = std::thread([this] { reactor_.run(); });
  }

  ~Farm() {
    reactor_.stop();
    thread_.join();
  }

  Farm(const Farm&) = delete;
  Farm& operator=(const Farm&) = delete;

  [[nodiscard]] uint16_t port(size_t dsp) const { return servers_[dsp]->port(); }

 private:
  std::vector<net::Server::Worker> worker() {
    std::vector<net::Server::Worker> one;
    one.push_back(
        {.reactor = reactor_, .handler = [](const net::Request&, net::Reply reply) {
           constexpr std::string_view kBid =
               R"({"id":"r","seatbid":[{"bid":[{"id":"b","impid":"1","price":2.5,)"
               R"("adm":"<a href='https://c.example/'>ad</a>","crid":"c","w":300,"h":250}]}]})";
           reply.send({.status = 200,
                       .content_type = "application/json",
                       .headers = {},
                       .body = std::string(kBid)});
         }});
    return one;
  }

  net::OsClock clock_;
  net::Reactor reactor_;
  std::vector<std::unique_ptr<net::Server>> servers_;
  std::thread thread_;
};

std::string config_of(const Farm& farm, const std::string& ca_file) {
  std::string config = "dsps:\n";
  for (size_t i = 0; i < kDsps; ++i) {
    config += fmt::format("  - {{ name: d{}, endpoint: \"http{}://127.0.0.1:{}/\"{} }}\n", i,
                          ca_file.empty() ? "" : "s", farm.port(i),
                          ca_file.empty() ? "" : fmt::format(", tls: {{ ca_file: {} }}", ca_file));
  }
  return config;
}

/// User and system CPU time of all threads of a process since its start.
double cpu_us(pid_t process) {
  double total_us = 0;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    std::ifstream file(task.path() / "schedstat");
    double ran_ns = 0;
    file >> ran_ns;
    total_us += ran_ns / 1e3;
  }
  return total_us;
}

/// Sums over the DSPs and auctions of an exchange since its start.
struct Counts {
  double calls = 0;
  double reused = 0;
  double auctions = 0;
};

Counts counts_of(const ExchangeProcess& exchange) {
  Counts counts;
  for (const auto& [series, value] : exchange.metrics()) {
    if (series.starts_with("spillway_exchange_client_events_total")) {
      counts.calls += series.contains("event=\"call\"") ? value : 0;
      counts.reused += series.contains("event=\"reused\"") ? value : 0;
    }
    counts.auctions += series == "spillway_exchange_auctions_total" ? value : 0;
  }
  return counts;
}

/// One exchange and what it cost.
struct Side {
  ExchangeProcess exchange;
  std::vector<double> cpu_us_per_auction = {};
  double calls = 0;
  double reused = 0;

  explicit Side(const std::string& config) : exchange(config) {}

  void load(std::string_view rate, std::string_view duration) {
    (void)e2e::run_program(
        {SPILLWAY_BINARY_DIR "/libexec/spillway-load", "--target",
         fmt::format("http://127.0.0.1:{}/openrtb2/auction", exchange.auction().port), "--rate",
         std::string(rate), "--duration", std::string(duration), "--timeout", "5s"});
  }

  void measure(std::string_view rate, std::string_view duration) {
    const Counts before = counts_of(exchange);
    const double cpu_before_us = cpu_us(exchange.pid());
    load(rate, duration);
    const double spent_us = cpu_us(exchange.pid()) - cpu_before_us;
    const Counts after = counts_of(exchange);
    const double auctions = after.auctions - before.auctions;
    cpu_us_per_auction.push_back(auctions > 0 ? spent_us / auctions : 0);
    calls += after.calls - before.calls;
    reused += after.reused - before.reused;
  }
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

int run(int rounds, const std::string& rate, const std::string& duration) {
  net::testing::Certificates certificates;
  certificates.issue("dsp", "IP:127.0.0.1");
  const Farm plain_farm({});
  const Farm tls_farm(
      {.certificate_file = certificates.pem("dsp"), .key_file = certificates.key("dsp")});
  Side plain(config_of(plain_farm, ""));
  Side tls(config_of(tls_farm, certificates.pem("ca")));
  if (!plain.exchange.started() || !tls.exchange.started()) {
    std::puts("an exchange did not start");
    return 1;
  }
  for (Side* side : {&plain, &tls}) {
    side->load(rate, "500ms");  // opens the connections
  }
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    for (Side* side : {&plain, &tls}) {
      side->measure(rate, duration);
    }
    ratios.push_back(tls.cpu_us_per_auction.back() / plain.cpu_us_per_auction.back());
  }
  fmt::print("| DSPs | CPU an auction, us | calls on kept connections |\n|---|---|---|\n");
  for (const auto& [name, side] : {std::pair("plain", &plain), std::pair("TLS", &tls)}) {
    fmt::print("| {} {} | {:.0f} | {:.2f} % |\n", kDsps, name, median(side->cpu_us_per_auction),
               side->calls > 0 ? 100 * side->reused / side->calls : 0);
  }
  fmt::print("TLS / plain: {:.2f} (rounds {:.2f} to {:.2f})\n", median(ratios),
             std::ranges::min(ratios), std::ranges::max(ratios));
  return 0;
}

}  // namespace
}  // namespace spillway::tls_cost

int main(int argc, char** argv) {
  CLI::App app("CPU of an auction with 5 DSPs over TLS beside plain");
  int rounds = 7;
  std::string rate = "400";
  std::string duration = "3s";
  bool smoke = false;
  app.add_option("--rounds", rounds, "Each measures both once")->check(CLI::Range(1, 100));
  app.add_option("--rate", rate, "Auctions per second");
  app.add_option("--duration", duration, "Of one measurement");
  app.add_flag("--smoke", smoke, "One short round");
  CLI11_PARSE(app, argc, argv);
  return smoke ? spillway::tls_cost::run(1, "100", "300ms")
               : spillway::tls_cost::run(rounds, rate, duration);
}
