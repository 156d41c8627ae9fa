// GET /metrics of a Balancer; docs/metrics.md has every name.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "adapters/haproxy_client.h"
#include "adapters/registry.h"
#include "app/balancer/balancer.h"
#include "app/balancer/change.h"
#include "app/balancer/effect.h"
#include "app/balancer/haproxy_watch.h"
#include "app/balancer/picture.h"
#include "base/time.h"
#include "observe/metrics_page.h"

namespace spillway::app::balancing {

namespace {

using observe::MetricsPage;

struct ServerCounts {
  uint32_t up = 0;
  uint32_t down = 0;
  uint32_t forced = 0;
  uint32_t resolver = 0;
  uint32_t weightless = 0;
};

ServerCounts count(const Picture& picture) {
  ServerCounts out;
  for (const auto& [name, server] : picture.servers) {
    if (server.in_forced_maint()) {
      ++out.forced;
    } else if (server.in_resolver_maint()) {
      ++out.resolver;
    } else if (!server.is_up()) {
      ++out.down;
    } else if (server.state.user_weight == 0) {
      ++out.weightless;
    } else {
      ++out.up;
    }
  }
  return out;
}

void write_servers(MetricsPage& page, std::string_view haproxy, const Picture& picture) {
  const ServerCounts counts = count(picture);
  const auto servers = [&](std::string_view state, uint32_t value) {
    page.gauge("spillway_balancer_servers", "Servers of the backend, by state.",
               {{"haproxy", haproxy}, {"state", state}}, value);
  };
  servers("up", counts.up);
  servers("down", counts.down);
  servers("maint_forced", counts.forced);
  servers("maint_resolver", counts.resolver);
  servers("no_weight", counts.weightless);
}

void write_watch(MetricsPage& page, const HaproxyWatch& watch) {
  const std::string_view name = watch.name();
  const HaproxyWatchCounters& c = watch.counters();
  page.gauge("spillway_balancer_haproxy_up", "1: the last round read this HAProxy.",
             {{"haproxy", name}}, watch.picture() == nullptr ? 0 : 1);
  page.counter("spillway_balancer_rounds_total", "Rounds that read HAProxy.", {{"haproxy", name}},
               c.rounds.value());
  page.counter("spillway_balancer_rounds_skipped_total", "Rounds due before the last was over.",
               {{"haproxy", name}}, c.skipped.value());
  page.counter("spillway_balancer_unreadable_total", "Answers of HAProxy that could not be read.",
               {{"haproxy", name}}, c.unreadable.value());
  page.counter("spillway_balancer_restarts_total", "Restarts and reloads of HAProxy seen.",
               {{"haproxy", name}}, c.restarts.value());
  for (size_t i = 0; i < adapters::kHaproxyErrors; ++i) {
    page.counter("spillway_balancer_command_errors_total",
                 "Batches of commands that failed, by reason.",
                 {{"haproxy", name}, {"reason", to_string(static_cast<adapters::HaproxyErrc>(i))}},
                 watch.client().counters().failed[i].value());
  }
  for (size_t i = 0; i < kChangeKinds; ++i) {
    page.counter("spillway_balancer_changes_total", "Changes that HAProxy carried out.",
                 {{"haproxy", name}, {"kind", to_string(static_cast<ChangeKind>(i))}},
                 c.changes.at(i).value());
  }
  for (size_t i = 0; i < kDeclines; ++i) {
    page.counter("spillway_balancer_declined_total",
                 "What was wanted and not done in a round, by reason.",
                 {{"haproxy", name}, {"reason", to_string(static_cast<Declined>(i))}},
                 c.declined.at(i).value());
  }
  const auto state_file = [&](std::string_view end, uint64_t value) {
    page.counter("spillway_balancer_state_file_writes_total",
                 "Writings of HAProxy's server state file.", {{"haproxy", name}, {"end", end}},
                 value);
  };
  state_file("done", watch.state_file().written());
  state_file("failed", watch.state_file().failed());
  page.gauge("spillway_balancer_agents_dead", "Servers with a neutral weight, as their agent died.",
             {{"haproxy", name}}, watch.watchdog().dead());
  page.gauge("spillway_balancer_free_slots", "Slots without an instance; mode slots.",
             {{"haproxy", name}}, watch.plan().free_slots);
  page.gauge("spillway_balancer_by_people",
             "Members of the registry in maintenance by somebody else's order.",
             {{"haproxy", name}}, watch.plan().by_people);
  if (watch.picture() != nullptr) {
    write_servers(page, name, *watch.picture());
  }
}

void write_effect(MetricsPage& page, const HaproxyWatch& watch) {
  const std::string_view name = watch.name();
  page.counter("spillway_balancer_effect_windows_total", "Windows in which shares were compared.",
               {{"haproxy", name}}, watch.counters().windows.value());
  for (size_t i = 1; i < kEffectCauses; ++i) {
    page.counter("spillway_balancer_effect_warnings_total",
                 "Windows in which a server's share was out of tolerance, by likely cause.",
                 {{"haproxy", name}, {"cause", to_string(static_cast<EffectCause>(i))}},
                 watch.counters().warnings.at(i).value());
  }
  page.gauge("spillway_balancer_share_difference_ratio",
             "Largest difference of a server's received share and its expected one, last window.",
             {{"haproxy", name}}, watch.effect() ? watch.effect()->worst : 0);
}

void write_registry(MetricsPage& page, const adapters::Registry& registry) {
  const adapters::RegistryCounters& c = registry.counters();
  page.gauge("spillway_balancer_members", "Members of the set in force.", {},
             static_cast<double>(registry.view().instances.size()));
  page.gauge("spillway_balancer_registry_age_seconds",
             "Since the registry was last read; -1 never.", {},
             registry.age() ? base::to_ms(*registry.age()) / 1e3 : -1);
  page.gauge("spillway_balancer_registry_held",
             "1: a set that is empty or has halved waits to be confirmed.", {},
             registry.held_size() ? 1 : 0);
  page.counter("spillway_balancer_registry_reads_total", "Whole sets read.", {}, c.reads.value());
  page.counter("spillway_balancer_registry_changes_total", "Changes of the set in force.", {},
               c.changes.value());
  for (size_t i = 0; i < adapters::kRegistryErrors; ++i) {
    page.counter("spillway_balancer_registry_errors_total", "Reads that failed, by reason.",
                 {{"reason", to_string(static_cast<adapters::RegistryErrc>(i))}},
                 c.read_errors[i].value());
  }
  for (size_t i = 0; i < adapters::kRegistryHolds; ++i) {
    page.counter(
        "spillway_balancer_registry_held_total", "Sets read and not believed yet, by reason.",
        {{"reason", to_string(static_cast<adapters::RegistryHold>(i))}}, c.held[i].value());
  }
  page.counter("spillway_balancer_registry_unsound_total",
               "Entries left out: malformed, or a second one of an id.", {}, c.unsound.value());
  page.counter("spillway_balancer_registry_index_resets_total",
               "The registry's index went backwards.", {}, c.index_resets.value());
  page.counter("spillway_balancer_registry_idle_wakes_total",
               "Blocking reads that returned without a change.", {}, c.idle_wakes.value());
}

}  // namespace

std::string Balancer::metrics_text() const {
  MetricsPage page;
  for (const auto& watch : watches_) {
    write_watch(page, *watch);
    write_effect(page, *watch);
  }
  page.gauge("spillway_balancer_weights_differ",
             "Servers whose weight is not the same on all HAProxies, three rounds in a row.", {},
             differ_now_);
  if (registry_ != nullptr) {
    write_registry(page, *registry_);
  }
  const auto reloads = [&page](std::string_view end, uint64_t value) {
    page.counter("spillway_balancer_reloads_total", "Readings of the configuration while running.",
                 {{"end", end}}, value);
  };
  reloads("done", reloads_.value());
  reloads("refused", reloads_refused_.value());
  page.counter("spillway_balancer_log_dropped_total", "Log events lost.", {}, log_.dropped());
  return page.text();
}

}  // namespace spillway::app::balancing
