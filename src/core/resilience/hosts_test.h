#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/host_settings.h"
#include "resilience/hosts.h"
#include "resilience/outcome.h"

namespace spillway::resilience {

/// Hosts 1 … n that answer as they are told to, under one worker and virtual time.
class Pool {
 public:
  struct Answer {
    Outcome outcome = Outcome::kOk;
    base::Duration latency = std::chrono::milliseconds(20);
  };

  using Behaviour = std::function<Answer(base::Rng&)>;

  explicit Pool(size_t count, const HostSettings& settings = {}, uint64_t seed = 1)
      : hosts(settings, 2, seed, base::Instant(std::chrono::hours(1))), rng(seed) {
    std::vector<uint64_t> ids(count);
    std::iota(ids.begin(), ids.end(), 1);
    hosts.set_hosts(now, ids, events);
  }

  static Behaviour always(Outcome outcome) {
    return [outcome](base::Rng&) { return Answer{.outcome = outcome}; };
  }

  static Behaviour failing(double share, Outcome outcome = Outcome::kServerError) {
    return [=](base::Rng& random) {
      return Answer{.outcome = random.uniform() < share ? outcome : Outcome::kOk};
    };
  }

  static Behaviour taking(base::Duration latency) {
    return [=](base::Rng&) { return Answer{.latency = latency}; };
  }

  /// One call wherever the pick goes; its host.
  uint64_t call(uint32_t worker = 0) {
    const PickedHost picked = hosts.pick(worker, rng.next()).value_or(PickedHost{});
    settle(picked, worker);
    return picked.id;
  }

  /// `calls` calls that reach `host` (picks that go elsewhere are given back as not sent).
  void call_host(uint64_t host, int calls, std::optional<Outcome> outcome = {}) {
    for (int i = 0; i < calls; ++i) {
      PickedHost picked = pick_host(host);
      if (outcome) {
        hosts.report(0, picked, *outcome, std::chrono::milliseconds(20));
      } else {
        settle(picked, 0);
      }
    }
  }

  /// A pick of `host`, also while it is ejected.
  PickedHost pick_host(uint64_t host) {
    uint64_t others = 0;
    for (;;) {
      const PickedHost picked = hosts.pick(0, rng.next(), others).value_or(PickedHost{});
      if (picked.id == host) {
        return picked;
      }
      others |= picked.bit();
      hosts.report(0, picked, Outcome::kNotSent, {});
    }
  }

  void tick(base::Duration step = std::chrono::milliseconds(100)) {
    now += step;
    hosts.tick(now, events);
  }

  /// `per_second` calls, evenly, with ten ticks a second.
  void run(base::Duration time, int per_second) {
    const base::Instant end = now + time;
    while (now < end) {
      for (int i = 0; i < per_second / 10; ++i) {
        ++reached[call()];
      }
      tick();
    }
  }

  [[nodiscard]] size_t count(HostEvent::Kind kind, uint64_t host = 0) const {
    return static_cast<size_t>(std::ranges::count_if(events, [&](const HostEvent& event) {
      return event.kind == kind && (host == 0 || event.host == host);
    }));
  }

  [[nodiscard]] const HostEvent* last(HostEvent::Kind kind) const {
    const HostEvent* found = nullptr;
    for (const HostEvent& event : events) {
      found = event.kind == kind ? &event : found;
    }
    return found;
  }

  [[nodiscard]] HostState state(uint64_t host) const {
    for (const HostState& state : hosts.states()) {
      if (state.id == host) {
        return state;
      }
    }
    return {};
  }

  base::Instant now{std::chrono::hours(1)};
  std::vector<HostEvent> events;
  Hosts hosts;
  base::Rng rng;
  std::map<uint64_t, Behaviour> behaviours;
  std::map<uint64_t, uint64_t> reached;

 private:
  void settle(const PickedHost& picked, uint32_t worker) {
    const auto found = behaviours.find(picked.id);
    const Answer answer = found == behaviours.end() ? Answer{} : found->second(rng);
    hosts.report(worker, picked, answer.outcome, answer.latency);
  }
};

}  // namespace spillway::resilience
