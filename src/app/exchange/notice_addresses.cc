#include "app/exchange/notice_addresses.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "net/address_set.h"
#include "net/resolver.h"

namespace spillway::app {
namespace {

// Source: the special-purpose registries of RFC 6890.
const net::AddressSet& not_public() {
  static const net::AddressSet networks = [] {
    net::AddressSet set;
    for (const char* const network :
         {"0.0.0.0/8",       "10.0.0.0/8",     "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
          "172.16.0.0/12",   "192.0.0.0/24",   "192.0.2.0/24",   "192.168.0.0/16", "198.18.0.0/15",
          "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4",    "::/128",
          "::1/128",         "64:ff9b::/96",   "64:ff9b:1::/48", "100::/64",       "2001::/23",
          "2001:db8::/32",   "2002::/16",      "fc00::/7",       "fe80::/10",      "fec0::/10",
          "ff00::/8"}) {
      (void)set.add(network);
    }
    return set;
  }();
  return networks;
}

bool is_public(const net::SocketAddress& address) {
  net::IpAddress ip;
  if (address.storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.storage);
    ip.bytes[10] = ip.bytes[11] = 0xff;
    std::memcpy(ip.bytes.data() + 12, &v4.sin_addr, 4);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    std::memcpy(ip.bytes.data(), &v6.sin6_addr, 16);
  }
  return !not_public().contains(ip);
}

}  // namespace

bool may_be_public(const std::string& host) {
  for (const auto& address : net::literal_address(host, 80)) {
    if (!is_public(address)) {
      return false;
    }
  }
  return true;
}

PublicLookup::PublicLookup(std::shared_ptr<const std::atomic<bool>> allow_private,
                           std::shared_ptr<net::NameLookup> names)
    : allow_private_(std::move(allow_private)), names_(std::move(names)) {}

void PublicLookup::look_up(std::string host, uint16_t port, Done done) {
  names_->look_up(std::move(host), port,
                  [done = std::move(done),
                   allow = allow_private_](std::vector<net::SocketAddress> found) mutable {
                    if (!allow->load(std::memory_order_relaxed)) {
                      std::erase_if(found, [](const auto& address) { return !is_public(address); });
                    }
                    done(std::move(found));
                  });
}

}  // namespace spillway::app
