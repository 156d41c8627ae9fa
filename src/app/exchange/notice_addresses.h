#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "net/resolver.h"

namespace spillway::app {

/// Whether a literal address is one that anybody may be made to call: no loopback, private,
/// link-local, shared, multicast or reserved network, in either family nor mapped or translated.
/// True for names: what they resolve to is judged by PublicLookup.
[[nodiscard]] bool may_be_public(const std::string& host);

/// Looks names up and leaves out every address that is not public, unless `allow_private` is set:
/// a URL from a bid must not make us call our own networks, also not by a name that points there.
class PublicLookup final : public net::NameLookup {
 public:
  explicit PublicLookup(std::shared_ptr<const std::atomic<bool>> allow_private,
                        std::shared_ptr<net::NameLookup> names = net::Resolver::shared());

  void look_up(std::string host, uint16_t port, Done done) override;

 private:
  std::shared_ptr<const std::atomic<bool>> allow_private_;
  std::shared_ptr<net::NameLookup> names_;
};

}  // namespace spillway::app
