// balance_backend --iterations N: an HTTP server whose every request costs the same work, and which
// misbehaves on order. Prints "listen=PORT admin=PORT". What one answers on its second port, from a
// thread of its own so that a full queue does not hide it:
//   GET  /load        what the agent reads
//   POST /mode?MODE   ok; fail: 500 at once, without the work
// Ends at SIGTERM when what it accepted is answered.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "balance/work.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/signals.h"
#include "net/timer_wheel.h"

namespace {

using namespace std::chrono_literals;
using namespace spillway;

enum class Mode : uint8_t { kOk, kFail };

std::atomic<Mode> mode{Mode::kOk};                             // NOLINT
std::atomic<uint64_t> requests{0}, successes{0}, failures{0};  // NOLINT

net::Response answer(uint64_t iterations) {
  requests.fetch_add(1, std::memory_order_relaxed);
  if (mode == Mode::kFail) {
    failures.fetch_add(1, std::memory_order_relaxed);
    return {.status = 500, .content_type = "text/plain", .body = "no\n"};
  }
  const uint64_t result = balance::burn(iterations);
  successes.fetch_add(1, std::memory_order_relaxed);
  return {.content_type = "text/plain", .body = fmt::format("{}\n", result & 7)};
}

net::Response admin_answer(const net::Request& request) {
  if (request.path() == "/load") {
    return {.content_type = "application/json",
            .body = fmt::format(R"({{"requests":{},"successes":{},"failures":{}}})"
                                "\n",
                                requests.load(), successes.load(), failures.load())};
  }
  if (request.path() == "/mode") {
    mode = request.query() == "fail" ? Mode::kFail : Mode::kOk;
    return {.content_type = "text/plain", .body = "done\n"};
  }
  return {.status = 404};
}

/// Ends the reactor once what was accepted is answered.
class LastAnswer final : private net::Timer {
 public:
  LastAnswer(net::Reactor& reactor, net::Server& server) : reactor_(reactor), server_(server) {}

  void begin() {
    server_.stop_accepting();
    on_timer(reactor_.now());
  }

 private:
  void on_timer(base::Instant now) override {
    if (server_.drained()) {
      reactor_.stop();
      return;
    }
    reactor_.timers().arm(*this, now + 20ms);
  }

  net::Reactor& reactor_;
  net::Server& server_;
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t iterations = argc == 3 && std::string_view(argv[1]) == "--iterations"
                                  ? std::strtoull(argv[2], nullptr, 10)
                                  : 0;
  if (iterations == 0) {
    std::fputs("usage: balance_backend --iterations N\n", stderr);
    return 2;
  }
  const net::OsClock clock;
  net::Reactor reactor(clock);
  net::Reactor admin_reactor(clock);
  LastAnswer* last = nullptr;
  const net::SignalSource signals(reactor, {SIGTERM, SIGINT}, [&](int) { last->begin(); });
  std::vector<net::Server::Worker> workers;
  workers.push_back({.reactor = reactor, .handler = [&](const net::Request&, net::Reply reply) {
                       reply.send(answer(iterations));
                     }});
  net::Server server("127.0.0.1:0", {}, std::move(workers));
  LastAnswer last_answer(reactor, server);
  last = &last_answer;
  std::vector<net::Server::Worker> admin_workers;
  admin_workers.push_back(
      {.reactor = admin_reactor, .handler = [](const net::Request& request, net::Reply reply) {
         reply.send(admin_answer(request));
       }});
  net::Server admin("127.0.0.1:0", {}, std::move(admin_workers));
  if (!server.error().empty() || !admin.error().empty()) {
    fmt::print(stderr, "{}{}\n", server.error(), admin.error());
    return 1;
  }
  server.start();
  admin.start();
  fmt::print("listen={} admin={}\n", server.port(), admin.port());
  std::fflush(stdout);
  std::thread admin_thread([&] { admin_reactor.run(); });
  reactor.run();
  admin_reactor.stop();
  admin_thread.join();
  return 0;
}
