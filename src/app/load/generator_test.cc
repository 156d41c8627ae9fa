#include "app/load/generator.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/load/stalling_server.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "workload/corpus.h"
#include "workload/rate_profile.h"
#include "workload/tally.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

class GeneratorTest : public testing::Test {
 protected:
  LoadSettings settings(uint16_t port, double rate, base::Duration duration) {
    LoadSettings made;
    made.targets = {{.port = port}};
    made.arrivals = {.profile = workload::RateProfile::constant(rate, duration)};
    made.timeout = 2s;
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
  if (generator.series().starved_count() == 0) {  // else it is also the machine's doing
    EXPECT_LT(generator.tally().latency().quantile(0.5), 100ms);
  }
}

TEST_F(GeneratorTest, ARequestNeverAnsweredIsATimeoutInThePercentilesAndTheRunEndsOnTime) {
  StallingServer server(reactor_, 10);
  LoadSettings load = settings(server.port(), 200, 500ms);
  load.timeout = 150ms;
  Generator generator(reactor_, load, &corpus_);
  run(generator);
  EXPECT_LT(elapsed_, 1500ms);
  // What we were a whole timeout late with ourselves, on a busy machine, was not sent.
  const uint64_t deaf = server.requests() / 10;
  EXPECT_EQ(generator.tally().ended() + generator.tally().dropped(), 100);
  EXPECT_GE(deaf, 5);
  EXPECT_GE(generator.tally().latency(workload::Ending::kTimeout).total(), deaf);
  EXPECT_GE(generator.tally().latency().quantile(0.95), 145ms);
  EXPECT_GE(generator.tally().answers(workload::AnswerKind::kNone), deaf);
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

TEST_F(GeneratorTest, OneRequestNeverAnsweredIsATimeoutAndHoldsUpNobody) {
  StallingServer server(reactor_, 150);  // of 200: one
  LoadSettings load = settings(server.port(), 400, 500ms);
  load.timeout = 250ms;
  Generator generator(reactor_, load, &corpus_);
  run(generator);
  EXPECT_LT(elapsed_, 1500ms);
  EXPECT_EQ(generator.tally().ended() + generator.tally().dropped(), 200);
  EXPECT_GE(generator.tally().latency(workload::Ending::kTimeout).total(), 1);
  EXPECT_GE(generator.tally().latency().quantile(1), 248ms);
  if (generator.series().starved_count() == 0) {
    EXPECT_EQ(generator.tally().failed(), 1);
  }
}

TEST_F(GeneratorTest, ConnectionsAreOpenedAsTheScheduleNeedsThem) {
  StallingServer server(reactor_);
  LoadSettings load = settings(server.port(), 200, 300ms);
  load.connections = 500;
  Generator generator(reactor_, load, &corpus_);
  run(generator);
  EXPECT_LT(generator.connects(), 60);
  EXPECT_GE(generator.connects(), 1);
}

TEST_F(GeneratorTest, InNewConnectionModeEveryRequestHasOneOfItsOwn) {
  StallingServer server(reactor_);
  LoadSettings load = settings(server.port(), 200, 300ms);
  load.keep_alive = false;
  Generator generator(reactor_, load, &corpus_);
  run(generator);
  EXPECT_EQ(generator.tally().status(204), 60);
  EXPECT_EQ(generator.connects(), 60);
}

TEST_F(GeneratorTest, SeveralTargetsTakeTurns) {
  StallingServer one(reactor_);
  StallingServer two(reactor_);
  LoadSettings load = settings(one.port(), 200, 300ms);
  load.targets.push_back({.port = two.port()});
  Generator generator(reactor_, load, &corpus_);
  run(generator);
  EXPECT_EQ(one.requests(), 30);
  EXPECT_EQ(two.requests(), 30);
}

TEST_F(GeneratorTest, CompressedRequestsArriveWhole) {
  StallingServer server(reactor_);
  const auto packed = workload::Corpus::generate({.requests = 64, .imps_max = 8, .gzip_ratio = 1});
  Generator generator(reactor_, settings(server.port(), 200, 300ms), &packed);
  run(generator);
  EXPECT_EQ(generator.tally().status(204), 60);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < 60; ++i) {
    bytes += packed.bytes(i, "load-1-" + std::to_string(i)).size();
  }
  EXPECT_EQ(server.bytes(), bytes);
}

TEST_F(GeneratorTest, ARefusalOfABrokenRequestIsNoError) {
  StallingServer server(reactor_);
  server.answer(400, 1);
  const auto broken = workload::Corpus::generate({.requests = 64, .invalid_ratio = 1});
  Generator generator(reactor_, settings(server.port(), 200, 300ms), &broken);
  run(generator);
  EXPECT_EQ(generator.tally().status(400), 60);
  EXPECT_EQ(generator.tally().failed(), 0);
}

TEST_F(GeneratorTest, AGeneratorThatIsHeldUpMarksTheIntervalAndDropsWhatIsAWholeTimeoutLate) {
  StallingServer server(reactor_);
  LoadSettings load = settings(server.port(), 400, 1500ms);
  load.timeout = 100ms;
  load.late_after = 20ms;
  Generator generator(reactor_, load, &corpus_);
  const base::Instant start = reactor_.refresh();
  generator.start(start, [this] { reactor_.stop(); });
  reactor_.post([&] {  // the generator's own thread, busy for 300 ms
    while (clock_.now() < start + 300ms) {
    }
  });
  reactor_.run();
  EXPECT_GE(generator.tally().dropped(), 70);
  EXPECT_GE(generator.tally().late(), 20);
  EXPECT_TRUE(generator.series().starved(0));
  EXPECT_EQ(generator.tally().offered(), 600);
}

}  // namespace
}  // namespace spillway::app
