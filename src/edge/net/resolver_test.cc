#include "net/resolver.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spillway::net {
namespace {

using namespace std::chrono_literals;

// A name server: "stuck" is not answered before release() is called.
class NameServer {
 public:
  ~NameServer() { release(); }

  void release() {
    if (!released_.exchange(true)) {
      open_.set_value();
    }
  }

  [[nodiscard]] Resolver::LookUp look_up() {
    return [this](const std::string& host, uint16_t port) {
      ++asked_;
      if (host.starts_with("stuck")) {
        gate_.wait();
      }
      return literal_address("127.0.0.1", port);
    };
  }

  [[nodiscard]] int asked() const { return asked_; }

 private:
  std::atomic<int> asked_{0};
  std::atomic<bool> released_{false};
  std::promise<void> open_;
  std::shared_future<void> gate_{open_.get_future()};
};

TEST(Resolver, ANameThatIsNotAnsweredDelaysNoOther) {
  NameServer server;
  std::promise<size_t> found;
  std::vector<std::promise<void>> ended(3);
  {
    Resolver resolver(server.look_up());
    for (size_t i = 0; i < ended.size(); ++i) {
      resolver.look_up("stuck" + std::to_string(i), 80, [&, i](auto) { ended[i].set_value(); });
    }
    resolver.look_up("good", 80, [&](auto addresses) { found.set_value(addresses.size()); });
    auto result = found.get_future();
    const bool in_time = result.wait_for(10s) == std::future_status::ready;
    EXPECT_TRUE(in_time);
    server.release();
    for (auto& stuck : ended) {
      EXPECT_EQ(stuck.get_future().wait_for(10s), std::future_status::ready);
    }
    if (!in_time) {
      result.wait();  // it answers into this test's memory
    }
    EXPECT_EQ(result.get(), 1U);
  }
}

TEST(Resolver, LookUpsOfOneNameAtOneTimeAreOne) {
  NameServer server;
  Resolver resolver(server.look_up());
  std::promise<void> first;
  std::promise<void> second;
  resolver.look_up("stuck", 80, [&](auto) { first.set_value(); });
  resolver.look_up("stuck", 80, [&](auto) { second.set_value(); });
  server.release();
  EXPECT_EQ(first.get_future().wait_for(10s), std::future_status::ready);
  EXPECT_EQ(second.get_future().wait_for(10s), std::future_status::ready);
  EXPECT_EQ(server.asked(), 1);
}

}  // namespace
}  // namespace spillway::net
