#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "net/reactor.h"

namespace spillway::app {

/// Which endpoints may still be called: those of the configuration in force, and those of former
/// ones that a worker has auctions or calls of in flight. One that no longer may is forgotten, so
/// that what is kept of endpoints is bounded by what is configured, however often that changes.
///
/// Configurations are numbered. A worker says what it holds once it has taken one on, and again
/// whenever it lets go of something; a key goes when every worker has said so of the last number.
///
/// Control thread, but for post_held. Memory: the keys, once and once a worker.
class EndpointUse {
 public:
  /// `forget` is told each key once; what the key stood for has no user left. The key may come back
  /// with a later configuration.
  EndpointUse(net::Reactor& control, size_t workers,
              std::function<void(const std::string& key)> forget)
      : control_(control), forget_(std::move(forget)), held_(workers) {}

  /// A configuration with these keys is about to be posted to every worker. Returns its number.
  uint64_t begin(std::set<std::string> keys);

  /// A worker holds these and no others, with all configurations up to `number` taken on.
  void on_held(uint32_t worker, uint64_t number, std::set<std::string> keys);

  /// The same from the worker's thread.
  void post_held(uint32_t worker, uint64_t number, std::set<std::string> keys);

 private:
  struct Held {
    uint64_t number = 0;
    std::set<std::string> keys;
  };

  void forget_unused();

  net::Reactor& control_;
  std::function<void(const std::string& key)> forget_;
  uint64_t number_ = 0;
  std::set<std::string> configured_;
  std::set<std::string> known_;  ///< Configured at some time and not forgotten.
  std::vector<Held> held_;       ///< By worker.
};

}  // namespace spillway::app
