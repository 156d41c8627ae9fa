#include "app/exchange/endpoint_use.h"

#include <cstddef>
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
  net::OsClock clock;
  net::Reactor control{clock};
  std::vector<std::string> forgotten;
  EndpointUse use{control, 2, [this](const std::string& key) { forgotten.push_back(key); }};
};

TEST_F(Use, AKeyOfTheConfigurationInForceIsNeverForgotten) {
  const uint64_t number = use.begin({"a", "b"});
  use.on_held(0, number, {});
  use.on_held(1, number, {});
  EXPECT_TRUE(forgotten.empty());
}

TEST_F(Use, ARemovedKeyIsForgottenOnceWhenTheLastWorkerLetsGo) {
  const uint64_t first = use.begin({"a", "b"});
  use.on_held(0, first, {"a", "b"});
  use.on_held(1, first, {"a", "b"});
  const uint64_t second = use.begin({"a"});
  use.on_held(0, second, {"a"});
  use.on_held(1, second, {"a", "b"});
  EXPECT_TRUE(forgotten.empty()) << "the second worker has a call open";
  use.on_held(1, second, {"a"});
  EXPECT_EQ(forgotten, std::vector<std::string>{"b"});
  use.on_held(1, second, {"a"});
  EXPECT_EQ(forgotten.size(), 1U);
}

TEST_F(Use, AWorkerThatHasNotTakenOnTheLastConfigurationKeepsEverything) {
  const uint64_t first = use.begin({"a", "b"});
  use.on_held(0, first, {"a", "b"});
  use.on_held(1, first, {"a", "b"});
  const uint64_t without = use.begin({"a"});
  use.begin({"a", "b"});
  const uint64_t again = use.begin({"a"});
  use.on_held(0, without, {"a"});
  use.on_held(1, without, {"a"});
  EXPECT_TRUE(forgotten.empty()) << "configurations with b are under way to both";
  use.on_held(0, again, {"a"});
  use.on_held(1, again, {"a"});
  EXPECT_EQ(forgotten, std::vector<std::string>{"b"});
}

TEST_F(Use, AKeyThatComesBackIsKeptAndMayGoAgain) {
  for (int i = 0; i < 2; ++i) {
    for (const Keys& keys : {Keys{"a", "b"}, Keys{"a"}}) {
      const uint64_t number = use.begin(keys);
      use.on_held(0, number, keys);
      use.on_held(1, number, keys);
    }
  }
  EXPECT_EQ(forgotten, (std::vector<std::string>{"b", "b"}));
}

TEST_F(Use, WhatWorkersPostIsTakenOnTheControlThread) {
  const uint64_t first = use.begin({"b"});
  use.post_held(0, first, {"b"});
  use.post_held(1, first, {"b"});
  const uint64_t second = use.begin({});
  use.post_held(0, second, {});
  use.post_held(1, second, {});
  EXPECT_TRUE(forgotten.empty());
  control.post([this] { control.stop(); });
  control.run();
  EXPECT_EQ(forgotten, std::vector<std::string>{"b"});
}

}  // namespace
}  // namespace spillway::app
