#include "app/exchange/endpoint_use.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "net/os_clock.h"
#include "net/reactor.h"

namespace spillway::app {
namespace {

using Keys = std::set<std::string>;

class Use : public testing::Test {
 protected:
  net::OsClock clock_;
  net::Reactor control_{clock_};
  std::vector<std::string> forgotten_;
  EndpointUse use_{control_, 2, [this](const std::string& key) { forgotten_.push_back(key); }};
};

TEST_F(Use, AKeyOfTheConfigurationInForceIsNeverForgotten) {
  const uint64_t number = use_.begin({"a", "b"});
  use_.on_held(0, number, {});
  use_.on_held(1, number, {});
  EXPECT_TRUE(forgotten_.empty());
}

TEST_F(Use, ARemovedKeyIsForgottenOnceWhenTheLastWorkerLetsGo) {
  const uint64_t first = use_.begin({"a", "b"});
  use_.on_held(0, first, {"a", "b"});
  use_.on_held(1, first, {"a", "b"});
  const uint64_t second = use_.begin({"a"});
  use_.on_held(0, second, {"a"});
  use_.on_held(1, second, {"a", "b"});
  EXPECT_TRUE(forgotten_.empty()) << "the second worker has a call open";
  use_.on_held(1, second, {"a"});
  EXPECT_EQ(forgotten_, std::vector<std::string>{"b"});
  use_.on_held(1, second, {"a"});
  EXPECT_EQ(forgotten_.size(), 1U);
}

TEST_F(Use, AWorkerThatHasNotTakenOnTheLastConfigurationKeepsEverything) {
  const uint64_t first = use_.begin({"a", "b"});
  use_.on_held(0, first, {"a", "b"});
  use_.on_held(1, first, {"a", "b"});
  const uint64_t without = use_.begin({"a"});
  use_.begin({"a", "b"});
  const uint64_t again = use_.begin({"a"});
  use_.on_held(0, without, {"a"});
  use_.on_held(1, without, {"a"});
  EXPECT_TRUE(forgotten_.empty()) << "configurations with b are under way to both";
  use_.on_held(0, again, {"a"});
  use_.on_held(1, again, {"a"});
  EXPECT_EQ(forgotten_, std::vector<std::string>{"b"});
}

TEST_F(Use, AKeyThatComesBackIsKeptAndMayGoAgain) {
  for (int i = 0; i < 2; ++i) {
    for (const Keys& keys : {Keys{"a", "b"}, Keys{"a"}}) {
      const uint64_t number = use_.begin(keys);
      use_.on_held(0, number, keys);
      use_.on_held(1, number, keys);
    }
  }
  EXPECT_EQ(forgotten_, (std::vector<std::string>{"b", "b"}));
}

TEST_F(Use, WhatWorkersPostIsTakenOnTheControlThread) {
  const uint64_t first = use_.begin({"b"});
  use_.post_held(0, first, {"b"});
  use_.post_held(1, first, {"b"});
  const uint64_t second = use_.begin({});
  use_.post_held(0, second, {});
  use_.post_held(1, second, {});
  EXPECT_TRUE(forgotten_.empty());
  control_.post([this] { control_.stop(); });
  control_.run();
  EXPECT_EQ(forgotten_, std::vector<std::string>{"b"});
}

}  // namespace
}  // namespace spillway::app
