// What a Balancer tells of itself: JSON for people and programs.
#include <optional>
#include <string>

#include <fmt/format.h>

#include "adapters/registry.h"
#include "app/balancer/balancer.h"
#include "app/balancer/change.h"
#include "app/balancer/effect.h"
#include "app/balancer/haproxy_watch.h"
#include "app/balancer/picture.h"
#include "base/time.h"
#include "openrtb/document.h"

namespace spillway::app::balancing {

namespace {

using openrtb::json_string;

void write_server(std::string& out, const HaproxyWatch& watch, const std::string& name,
                  const ServerPicture& server) {
  out += fmt::format(
      R"({{"name":{},"address":{},"status":{},"weight":{},"initial_weight":{},"agent":{},)"
      R"("agent_dead":{},"maint_forced":{},"maint_resolver":{},"sessions":{},"picked":{})",
      json_string(name), json_string(server.stat.address), json_string(server.stat.status),
      server.state.user_weight, server.state.initial_weight, json_string(server.stat.agent_status),
      watch.watchdog().is_dead(name), server.in_forced_maint(), server.in_resolver_maint(),
      server.stat.sessions, server.stat.picked);
  if (watch.effect()) {
    if (const auto found = watch.effect()->servers.find(name);
        found != watch.effect()->servers.end()) {
      out += fmt::format(R"(,"expected_ratio":{:.4f},"received_ratio":{:.4f},"held_ratio":{:.4f})",
                         found->second.expected, found->second.received, found->second.held);
    }
  }
  out += '}';
}

void write_watch(std::string& out, const HaproxyWatch& watch) {
  out += fmt::format(R"({{"name":{},"socket":{},"error":{})", json_string(watch.name()),
                     json_string(watch.client().address()), json_string(watch.error()));
  if (const Picture* picture = watch.picture()) {
    out += fmt::format(R"(,"version":{},"pid":{},"mode":{},"algorithm":{},"free_slots":{})",
                       json_string(picture->info.version), picture->info.pid,
                       json_string(picture->mode), json_string(picture->algorithm),
                       watch.plan().free_slots);
    if (const auto& effect = watch.effect()) {
      out += fmt::format(R"(,"share_difference_ratio":{:.4f},"cause":"{}")", effect->worst,
                         to_string(effect->cause));
    }
    out += ",\"servers\":[";
    const char* separator = "";
    for (const auto& [name, server] : picture->servers) {
      out += separator;
      write_server(out, watch, name, server);
      separator = ",";
    }
    out += ']';
  }
  out += ",\"wanted\":[";
  const char* separator = "";
  for (const Change& change : watch.wanted()) {
    out += fmt::format(R"({}{{"kind":"{}","server":{},"why":{}}})", separator,
                       to_string(change.kind), json_string(change.server), json_string(change.why));
    separator = ",";
  }
  out += "]}";
}

}  // namespace

std::string Balancer::status_json() const {
  std::string out = fmt::format(R"({{"backend":{},"zone":{},"applies":{},"ready":{})",
                                json_string(config_.backend), json_string(config_.zone),
                                options_.applies, ready());
  if (registry_ != nullptr) {
    const auto age = registry_->age();
    const auto held = registry_->held_size();
    out += fmt::format(
        R"(,"registry":{{"kind":"{}","known":{},"members":{},"index":{},"age_ms":{},"held":{},"error":{}}})",
        registry_->kind(), fleet_.known, fleet_.members.size(), registry_->view().index,
        age ? fmt::format("{:.0f}", base::to_ms(*age)) : "null",
        held ? std::to_string(*held) : "null", json_string(registry_->last_error()));
  }
  out += fmt::format(R"(,"weights_differ":{},"haproxies":[)", differ_now_);
  const char* separator = "";
  for (const auto& watch : watches_) {
    out += separator;
    write_watch(out, *watch);
    separator = ",";
  }
  out += "]}\n";
  return out;
}

}  // namespace spillway::app::balancing
