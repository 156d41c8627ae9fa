#include "adapters/spot_watch.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/metadata_fixture.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;

class SpotWatching : public ::testing::Test, private net::Timer {
 protected:
  void watch() {
    watch_ = std::make_unique<SpotWatch>(
        reactor_, SpotSettings{.host = "127.0.0.1", .port = metadata_.port(), .interval = 5ms},
        [this](SpotNotice notice, std::string_view text) {
          told_.emplace_back(notice, std::string(text));
        });
    watch_->start();
  }

  bool run_until(const std::function<bool()>& condition) {
    const auto end = reactor_.refresh() + 10s;
    while (!condition() && reactor_.refresh() < end) {
      reactor_.timers().arm(*this, reactor_.now() + 1ms);
      reactor_.run();
    }
    cancel();
    return condition();
  }

  void on_timer(base::Instant /*now*/) override { reactor_.stop(); }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  testing::FakeMetadata metadata_{reactor_};
  std::unique_ptr<SpotWatch> watch_;
  std::vector<std::pair<SpotNotice, std::string>> told_;
};

constexpr std::string_view kAction = R"({"action":"terminate","time":"2026-01-31T12:00:00Z"})";

TEST_F(SpotWatching, SaysNothingWhileThereIsNothingAndKeepsOneSession) {
  watch();
  EXPECT_TRUE(run_until([&] { return watch_->counters().polls.value() >= 3; }));
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(metadata_.tokens_given, 1U);
  EXPECT_EQ(metadata_.ttl, "21600");
  EXPECT_EQ(watch_->counters().failures.value(), 0U);
}

TEST_F(SpotWatching, TellsAnInterruptionOnce) {
  watch();
  EXPECT_TRUE(run_until([&] { return metadata_.looks >= 1; }));
  metadata_.action = kAction;
  EXPECT_TRUE(run_until([&] { return !told_.empty(); }));
  const auto looks = metadata_.looks;
  EXPECT_TRUE(run_until([&] { return metadata_.looks >= looks + 2; }));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].first, SpotNotice::kInterruption);
  EXPECT_EQ(told_[0].second, kAction);
}

TEST_F(SpotWatching, TellsARebalanceHintApartFromAnInterruption) {
  metadata_.rebalance = R"({"noticeTime":"2026-01-31T11:00:00Z"})";
  watch();
  EXPECT_TRUE(run_until([&] { return told_.size() == 1; }));
  EXPECT_EQ(told_[0].first, SpotNotice::kRebalance);
  metadata_.action = kAction;
  EXPECT_TRUE(run_until([&] { return told_.size() == 2; }));
  EXPECT_EQ(told_[1].first, SpotNotice::kInterruption);
}

TEST_F(SpotWatching, BeginsAnotherSessionWhenItsTokenIsRefused) {
  watch();
  EXPECT_TRUE(run_until([&] { return metadata_.looks >= 1; }));
  metadata_.token = "another";
  metadata_.action = kAction;
  EXPECT_TRUE(run_until([&] { return !told_.empty(); }));
  EXPECT_EQ(metadata_.tokens_given, 2U);
  EXPECT_EQ(watch_->counters().failures.value(), 0U);
}

TEST_F(SpotWatching, CountsATokenThatCannotStandInAHeaderAsAFailure) {
  metadata_.token = "a\r\nX: y";
  watch();
  EXPECT_TRUE(run_until([&] { return watch_->counters().failures.value() >= 2; }));
  EXPECT_EQ(metadata_.looks, 0U);
}

TEST(SpotWatch, GoesOnAskingAServiceThatIsNotThere) {
  net::OsClock clock;
  net::Reactor reactor(clock);

  struct Stop final : net::Timer {
    explicit Stop(net::Reactor& own) : reactor(own) {}

    void on_timer(base::Instant /*now*/) override { reactor.stop(); }

    net::Reactor& reactor;
  } stop(reactor);

  SpotWatch watch(reactor, {.host = "127.0.0.1", .port = 1, .interval = 2ms, .timeout = 100ms},
                  [](SpotNotice, std::string_view) { FAIL(); });
  watch.start();
  while (watch.counters().failures.value() < 2) {
    reactor.timers().arm(stop, reactor.refresh() + 5ms);
    reactor.run();
  }
  EXPECT_EQ(watch.counters().polls.value(), 0U);
}

}  // namespace
}  // namespace spillway::adapters
