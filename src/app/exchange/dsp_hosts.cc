#include "app/exchange/dsp_hosts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "observe/admin.h"
#include "observe/log.h"
#include "resilience/ejection.h"
#include "resilience/host_settings.h"
#include "resilience/hosts.h"
#include "resilience/settings.h"

namespace spillway::app {

EndpointHosts::EndpointHosts(std::string key, uint32_t workers, uint64_t seed, base::Instant now)
    : hosts({}, workers, seed, now), key_(std::move(key)), known_(workers) {}

void EndpointHosts::set_settings(const resilience::Settings& guard) {
  resilience::HostSettings settings = guard.hosts;
  if (guard.enforcement != resilience::Settings::Enforcement::kEnforce) {
    settings.max_ejected = 0;
  }
  hosts.set_settings(settings);
}

void EndpointHosts::set_addresses(uint32_t worker, std::vector<HostAddress> addresses,
                                  base::Instant now, observe::Log& log) {
  known_[worker] = std::move(addresses);
  std::vector<uint64_t> ids;
  for (const auto& known : known_) {
    for (const HostAddress& address : known) {
      ids.push_back(address.key);
    }
  }
  std::vector<resilience::HostEvent> events;
  hosts.set_hosts(now, ids, events);
  say(events, log);
}

void EndpointHosts::tick(base::Instant now, observe::Log& log) {
  std::vector<resilience::HostEvent> events;
  hosts.tick(now, events);
  say(events, log);
}

void EndpointHosts::say(const std::vector<resilience::HostEvent>& events, observe::Log& log) const {
  using Kind = resilience::HostEvent::Kind;
  for (const auto& event : events) {
    const bool bad = event.kind == Kind::kEjected || event.kind == Kind::kPanicBegan;
    log.event(bad ? observe::Level::kWarn : observe::Level::kInfo,
              "event=host_{} key={} host={} rule={} calls={} failures={} ejections={} "
              "eject_for_ms={:.0f} ejected={} hosts={} reason={}",
              to_string(event.kind), key_, text_of(event.host), event.rule, event.calls,
              event.failures, event.ejections, base::to_ms(event.eject_for), event.ejected,
              event.hosts, observe::quoted(event.reason));
  }
}

std::string_view EndpointHosts::text_of(uint64_t key) const {
  for (const auto& known : known_) {
    const auto found = std::ranges::find(known, key, &HostAddress::key);
    if (found != known.end()) {
      return found->text;
    }
  }
  return "-";
}

std::vector<observe::CircuitHost> EndpointHosts::list(base::Instant now) const {
  using resilience::HostResult;
  const auto states = hosts.states();
  std::vector<observe::CircuitHost> out;
  out.reserve(states.size());
  for (const auto& state : states) {
    const auto count = [&](HostResult result) {
      return state.results[static_cast<size_t>(result)];
    };
    out.push_back({.address = std::string(text_of(state.id)),
                   .ejected = state.ejected,
                   .returns_in = state.ejected ? std::max(state.until - now, base::Duration::zero())
                                               : base::Duration::zero(),
                   .ejections = state.ejections,
                   .weight = state.weight,
                   .in_flight = state.in_flight,
                   .good = count(HostResult::kGood),
                   .local_failures = count(HostResult::kLocalFailure),
                   .server_errors = count(HostResult::kServerError),
                   .neutral = count(HostResult::kNeutral)});
  }
  std::ranges::sort(out, {}, &observe::CircuitHost::address);
  return out;
}

EndpointHosts& DspHosts::at(const std::string& key, const resilience::Settings& guard,
                            base::Instant now) {
  auto& endpoint = endpoints_[key];
  if (endpoint == nullptr) {
    endpoint = std::make_unique<EndpointHosts>(key, workers_, base::hash64(key, seed_), now);
  }
  endpoint->set_settings(guard);
  return *endpoint;
}

const EndpointHosts* DspHosts::find(std::string_view key) const {
  const auto found = endpoints_.find(key);
  return found == endpoints_.end() ? nullptr : found->second.get();
}

void DspHosts::tick(base::Instant now) {
  for (const auto& [key, endpoint] : endpoints_) {
    endpoint->tick(now, log_);
  }
}

void DspHosts::post_addresses(EndpointHosts& hosts, uint32_t worker,
                              std::vector<HostAddress> addresses) {
  control_.post([this, endpoint = &hosts, worker, known = std::move(addresses)]() mutable {
    endpoint->set_addresses(worker, std::move(known), control_.now(), log_);
  });
}

}  // namespace spillway::app
