#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "net/reactor.h"
#include "observe/admin.h"
#include "observe/log.h"
#include "resilience/hosts.h"
#include "resilience/settings.h"

namespace spillway::app {

/// One address as a person reads it.
struct HostAddress {
  uint64_t key = 0;  ///< net::SocketAddress::key: the id of resilience::Hosts.
  std::string text;  ///< "10.1.2.3:443"
};

/// The hosts behind one endpoint of a DSP, with what every worker knows of its addresses. Name
/// servers may tell workers different parts: the set is all that some worker knows.
///
/// Control thread, but for the calls that resilience::Hosts lets workers make.
class EndpointHosts {
 public:
  EndpointHosts(std::string key, uint32_t workers, uint64_t seed, base::Instant now);

  /// Guards that only watch eject nobody; what they would have is said as `kept`.
  void set_settings(const resilience::Settings& guard);

  /// What `worker` knows from now on.
  void set_addresses(uint32_t worker, std::vector<HostAddress> addresses, base::Instant now,
                     observe::Log& log);

  void tick(base::Instant now, observe::Log& log);

  [[nodiscard]] std::vector<observe::CircuitHost> list(base::Instant now) const;

  resilience::Hosts hosts;

 private:
  void say(const std::vector<resilience::HostEvent>& events, observe::Log& log) const;
  [[nodiscard]] std::string_view text_of(uint64_t key) const;

  std::string key_;
  std::vector<std::vector<HostAddress>> known_;  ///< By worker.
};

/// The hosts of every endpoint that is called, by its guard's key. Control thread.
class DspHosts {
 public:
  DspHosts(net::Reactor& control, observe::Log& log, uint32_t workers, uint64_t seed)
      : control_(control), log_(log), workers_(workers), seed_(seed) {}

  /// Made on first use; stays until forget().
  EndpointHosts& at(const std::string& key, const resilience::Settings& guard, base::Instant now);

  /// No worker has it any more, and what they posted of it has been taken.
  void forget(const std::string& key) { endpoints_.erase(key); }

  /// Null when there is none.
  [[nodiscard]] const EndpointHosts* find(std::string_view key) const;

  void tick(base::Instant now);

  /// What a worker's name look-up found; any thread.
  void post_addresses(EndpointHosts& hosts, uint32_t worker, std::vector<HostAddress> addresses);

 private:
  net::Reactor& control_;
  observe::Log& log_;
  uint32_t workers_;
  uint64_t seed_;
  std::map<std::string, std::unique_ptr<EndpointHosts>, std::less<>> endpoints_;
};

}  // namespace spillway::app
