#include "app/exchange/notice_addresses.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/resolver.h"

namespace spillway::app {
namespace {

TEST(NoticeAddresses, AreRefusedWhenTheyAreNotPublic) {
  for (const char* const host :
       {"127.0.0.1", "10.1.2.3", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0", "255.255.255.255", "224.0.0.1", "::1", "::", "fe80::1", "fd00::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"}) {
    EXPECT_FALSE(may_be_public(host)) << host;
  }
  for (const char* const host : {"8.8.8.8", "172.32.0.1", "2606:4700::1", "dsp.example"}) {
    EXPECT_TRUE(may_be_public(host)) << host;
  }
}

/// Knows one name.
class OneName final : public net::NameLookup {
 public:
  void look_up(std::string /*host*/, uint16_t port, Done done) override {
    auto found = net::literal_address("127.0.0.1", port);
    found.push_back(net::literal_address("8.8.8.8", port).front());
    found.push_back(net::literal_address("fd00::1", port).front());
    done(std::move(found));
  }
};

TEST(NoticeAddresses, AreLeftOutWhenANameLeadsThere) {
  const auto allow = std::make_shared<std::atomic<bool>>(false);
  PublicLookup names(allow, std::make_shared<OneName>());
  std::vector<net::SocketAddress> seen;
  const auto keep = [&seen](std::vector<net::SocketAddress> found) { seen = std::move(found); };
  names.look_up("dsp.example", 80, keep);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].key(), net::literal_address("8.8.8.8", 80).front().key());
  *allow = true;
  names.look_up("dsp.example", 80, keep);
  EXPECT_EQ(seen.size(), 3U);
}

}  // namespace
}  // namespace spillway::app
