#include "app/load/generator.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/timer_wheel.h"
#include "workload/corpus.h"
#include "workload/rate_profile.h"
#include "workload/tally.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

/// A server that answers 204 at once, but for one stall in which everything waits for its end, and
/// every `deaf_every`th request, which it never answers.
class StallingServer final : private net::Timer {
 public:
  StallingServer(net::Reactor& reactor, size_t deaf_every)
      : reactor_(reactor), deaf_every_(deaf_every), server_("127.0.0.1:0", {}, workers()) {
    EXPECT_EQ(server_.error(), "");
    server_.start();
  }

  void stall(base::Instant from, base::Instant to) {
    from_ = from;
    to_ = to;
    reactor_.timers().arm(*this, to);
  }

  [[nodiscard]] uint16_t port() const { return server_.port(); }

 private:
  std::vector<net::Server::Worker> workers() {
    std::vector<net::Server::Worker> one;
    one.push_back({.reactor = reactor_, .handler = [this](const net::Request&, net::Reply reply) {
                     on_request(std::move(reply));
                   }});
    return one;
  }

  void on_request(net::Reply reply) {
    ++requests_;
    const base::Instant now = reactor_.refresh();
    if (deaf_every_ != 0 && requests_ % deaf_every_ == 0) {
      deaf_.push_back(std::move(reply));
    } else if (now >= from_ && now < to_) {
      waiting_.push_back(std::move(reply));
    } else {
      reply.send({.status = 204, .content_type = "", .headers = {}, .body = ""});
    }
  }

  void on_timer(base::Instant /*now*/) override {
    for (auto& reply : std::exchange(waiting_, {})) {
      reply.send({.status = 204, .content_type = "", .headers = {}, .body = ""});
    }
  }

  net::Reactor& reactor_;
  size_t deaf_every_;
  size_t requests_ = 0;
  base::Instant from_{};
  base::Instant to_{};
  std::vector<net::Reply> waiting_;
  std::vector<net::Reply> deaf_;
  net::Server server_;
};

class GeneratorTest : public testing::Test {
 protected:
  LoadSettings settings(uint16_t port, double rate, base::Duration duration) {
    LoadSettings made;
    made.targets = {{.port = port}};
    made.arrivals = {.profile = workload::RateProfile::constant(rate, duration)};
    made.late_after = 200ms;  // the machine under test may be busy with other tests
    return made;
  }

  void run(Generator& generator) {
    const base::Instant start = reactor_.refresh();
    generator.start(start, [this] { reactor_.stop(); });
    reactor_.run();
    elapsed_ = reactor_.now() - start;
  }

  base::Duration elapsed_{};
  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  workload::Corpus corpus_ = workload::Corpus::generate({.requests = 64});
};

TEST_F(GeneratorTest, AStallOfTheServerShowsInThePercentiles) {
  StallingServer server(reactor_, 0);
  Generator generator(reactor_, settings(server.port(), 500, 1s), &corpus_);
  const base::Instant now = clock_.now();
  server.stall(now + 400ms, now + 600ms);
  run(generator);
  // A fifth of the requests wait uniformly up to 200 ms: p95 is 150 ms, p99 is 190 ms.
  EXPECT_EQ(generator.tally().ended(), 500);
  EXPECT_GE(generator.tally().latency().quantile(0.99), 175ms);
  EXPECT_GE(generator.tally().latency().quantile(0.95), 135ms);
  EXPECT_LT(generator.tally().latency().quantile(0.5), 100ms);
}

TEST_F(GeneratorTest, ARequestNeverAnsweredIsATimeoutInThePercentilesAndTheRunEndsOnTime) {
  StallingServer server(reactor_, 10);
  LoadSettings load = settings(server.port(), 200, 500ms);
  load.timeout = 150ms;
  Generator generator(reactor_, load, &corpus_);
  run(generator);
  EXPECT_LT(elapsed_, 1500ms);
  EXPECT_EQ(generator.tally().ended(), 100);
  EXPECT_EQ(generator.tally().latency(workload::Ending::kTimeout).total(), 10);
  EXPECT_GE(generator.tally().latency().quantile(0.95), 145ms);
  EXPECT_EQ(generator.tally().answers(workload::AnswerKind::kNone), 10);
}

TEST_F(GeneratorTest, ArrivalsOverTheConnectionCapAreDroppedAndFailTheRun) {
  StallingServer server(reactor_, 1);
  LoadSettings load = settings(server.port(), 200, 500ms);
  load.connections = 2;
  load.timeout = 1s;
  Generator generator(reactor_, load, &corpus_);
  run(generator);
  EXPECT_EQ(generator.tally().offered(), 100);
  EXPECT_EQ(generator.tally().dropped(), 98);
  EXPECT_NEAR(generator.tally().missed_ratio(), 0.98, 0.001);
}

TEST_F(GeneratorTest, ATargetThatIsNotThereIsRefusalsNotSilence) {
  // Bound but not listening: the port is taken, and every connection to it refused.
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const uint16_t port = ntohs(address.sin_port);
  Generator generator(reactor_, settings(port, 100, 200ms), &corpus_);
  run(generator);
  EXPECT_EQ(generator.tally().latency(workload::Ending::kRefused).total(), 20);
  ::close(fd);
}

TEST_F(GeneratorTest, SendsEveryArrivalOfTheScheduleOnce) {
  StallingServer server(reactor_, 0);
  Generator generator(reactor_, settings(server.port(), 1000, 300ms), &corpus_);
  run(generator);
  EXPECT_EQ(generator.tally().offered(), 300);
  EXPECT_EQ(generator.tally().ended(), 300);
  EXPECT_EQ(generator.tally().status(204), 300);
}

}  // namespace
}  // namespace spillway::app
