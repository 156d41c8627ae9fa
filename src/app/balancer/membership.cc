#include "app/balancer/membership.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "adapters/haproxy_report.h"
#include "adapters/registry.h"
#include "app/balancer/change.h"
#include "app/balancer/picture.h"
#include "base/time.h"

namespace spillway::app::balancing {

namespace {

using adapters::RegistryInstance;
using Members = std::vector<RegistryInstance>;

constexpr std::string_view kNowhere = "0.0.0.0";  ///< Of a free slot.

int64_t ms_of(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::string address_of(const RegistryInstance& instance) {
  return fmt::format(fmt::runtime(instance.host.contains(':') ? "[{}]:{}" : "{}:{}"), instance.host,
                     instance.port);
}

/// However an IPv6 address is written.
bool is_same_address(const std::string& a, const std::string& b) {
  std::array<unsigned char, sizeof(in6_addr)> left{};
  std::array<unsigned char, sizeof(in6_addr)> right{};
  return a == b || (::inet_pton(AF_INET6, a.c_str(), left.data()) == 1 &&
                    ::inet_pton(AF_INET6, b.c_str(), right.data()) == 1 && left == right);
}

bool is_at(const adapters::HaproxyServerState& state, const RegistryInstance& instance) {
  return state.port == instance.port && is_same_address(state.address, instance.host);
}

void decline(MembershipPlan& plan, Declined why) { ++plan.declined.at(static_cast<size_t>(why)); }

}  // namespace

Membership::Membership(std::string backend, MembershipSettings settings)
    : backend_(std::move(backend)), settings_(std::move(settings)) {}

std::string Membership::path(std::string_view server) const {
  return fmt::format("{}/{}", backend_, server);
}

MembershipPlan Membership::plan(const Picture& picture, const Members& members,
                                const std::map<std::string, uint32_t, std::less<>>& restored) {
  MembershipPlan out;
  for (const auto& [name, server] : picture.servers) {
    out.by_resolver += server.in_resolver_maint() ? 1 : 0;
  }
  if (settings_.mode == MembershipSettings::Mode::kDynamic) {
    plan_dynamic(picture, members, restored, out);
  } else {
    plan_slots(picture, members, out);
  }
  if (out.changes.size() > settings_.max_changes) {
    out.declined.at(static_cast<size_t>(Declined::kRoundFull)) +=
        static_cast<uint32_t>(out.changes.size() - settings_.max_changes);
    out.changes.resize(settings_.max_changes);
  }
  return out;
}

void Membership::plan_dynamic(const Picture& picture, const Members& members,
                              const std::map<std::string, uint32_t, std::less<>>& restored,
                              MembershipPlan& out) {
  std::set<std::string_view> wanted;
  for (const RegistryInstance& instance : members) {
    wanted.insert(instance.id);
    const auto found = picture.servers.find(instance.id);
    if (found == picture.servers.end()) {
      const auto weight = restored.find(instance.id);
      out.changes.push_back(
          add(instance, weight == restored.end() ? settings_.weight : weight->second));
      continue;
    }
    const ServerPicture& server = found->second;
    if (!is_at(server.state, instance) ||
        (instance.agent_port != 0 && server.state.agent_port != 0 &&
         server.state.agent_port != instance.agent_port)) {
      out.changes.push_back(remove(instance.id, "its instance has another address now"));
    } else if (leaving_.contains(instance.id) && server.in_forced_maint()) {
      out.changes.push_back(
          {.kind = ChangeKind::kReturn,
           .server = instance.id,
           .why = "its instance is in the registry again",
           .commands = {"enable agent " + path(instance.id), "enable health " + path(instance.id),
                        "set server " + path(instance.id) + " state ready"}});
    } else if (server.in_forced_maint()) {
      ++out.by_people;
      decline(out, Declined::kByPeople);
    }
  }
  for (const auto& [name, server] : picture.servers) {
    if (!wanted.contains(name) && std::ranges::find(settings_.keep, name) == settings_.keep.end()) {
      out.changes.push_back(remove(name, "it is not in the registry"));
    }
  }
}

Change Membership::add(const RegistryInstance& instance, uint32_t weight) const {
  const MembershipSettings& s = settings_;
  std::string line =
      fmt::format("add server {} {} weight {} check inter {} fall {} rise {}", path(instance.id),
                  address_of(instance), s.weight, ms_of(s.check_inter), s.fall, s.rise);
  if (s.slowstart > base::Duration::zero()) {
    line += fmt::format(" slowstart {}", ms_of(s.slowstart));
  }
  if (instance.agent_port != 0) {
    line += fmt::format(" agent-check agent-port {} agent-inter {} agent-send \"{}\\n\"",
                        instance.agent_port, ms_of(s.agent_inter), s.agent_send);
  }
  if (!s.options.empty()) {
    line += " " + s.options;
  }
  Change change{.kind = ChangeKind::kAdd,
                .server = instance.id,
                .why = "its instance is in the registry",
                .commands = {std::move(line), "enable health " + path(instance.id)}};
  if (instance.agent_port != 0) {
    change.commands.push_back("enable agent " + path(instance.id));
  }
  if (weight != s.weight) {
    change.commands.push_back(fmt::format("set server {} weight {}", path(instance.id), weight));
  }
  change.commands.push_back("enable server " + path(instance.id));
  return change;
}

Change Membership::remove(const std::string& server, std::string why) const {
  return {
      .kind = ChangeKind::kRemove,
      .server = server,
      .why = std::move(why),
      .commands = {"disable agent " + path(server), "set server " + path(server) + " state maint",
                   "del server " + path(server)}};
}

bool Membership::is_slot(std::string_view server) const {
  if (!server.starts_with(settings_.slot_prefix) || server.size() == settings_.slot_prefix.size()) {
    return false;
  }
  server.remove_prefix(settings_.slot_prefix.size());
  return server.find_first_not_of("0123456789") == std::string_view::npos;
}

Change Membership::assign(const std::string& slot, const RegistryInstance& instance) const {
  const std::string set = "set server " + path(slot) + " ";
  Change change{.kind = ChangeKind::kAssign,
                .server = slot,
                .why = "it takes " + instance.id,
                .commands = {fmt::format("{}addr {} port {}", set, instance.host, instance.port),
                             // what its last instance had is not this one's
                             fmt::format("{}weight {}", set, settings_.weight)}};
  if (instance.agent_port != 0) {
    change.commands.push_back(fmt::format("{}agent-addr {}", set, instance.host));
    change.commands.push_back(fmt::format("{}agent-port {}", set, instance.agent_port));
    change.commands.push_back("enable agent " + path(slot));
  }
  change.commands.push_back("enable health " + path(slot));
  change.commands.push_back(set + "state ready");
  return change;
}

void Membership::plan_slots(const Picture& picture, const Members& members,
                            MembershipPlan& out) const {
  std::vector<std::string> free;
  std::vector<bool> placed(members.size(), false);
  for (const auto& [name, server] : picture.servers) {
    if (!is_slot(name)) {
      continue;
    }
    const auto found = std::ranges::find_if(
        members, [&](const RegistryInstance& one) { return is_at(server.state, one); });
    const auto at = static_cast<size_t>(found - members.begin());
    if (found != members.end() && !placed[at] &&
        (!server.in_forced_maint() || !leaving_.contains(name))) {
      placed[at] = true;
      if (server.in_forced_maint()) {
        ++out.by_people;
        decline(out, Declined::kByPeople);
      }
    } else if (server.in_forced_maint()) {
      free.push_back(name);
    } else {
      out.changes.push_back(
          {.kind = ChangeKind::kRelease,
           .server = name,
           .why = "its address is not in the registry",
           // without its address nobody takes it for a person's order later
           .commands = {"disable agent " + path(name), "set server " + path(name) + " state maint",
                        fmt::format("set server {} addr {} port 1", path(name), kNowhere)}});
    }
  }
  out.free_slots = static_cast<uint32_t>(free.size());
  auto slot = free.begin();
  for (size_t i = 0; i < members.size(); ++i) {
    if (placed[i]) {
      continue;
    }
    if (slot == free.end()) {
      decline(out, Declined::kNoFreeSlot);
    } else {
      out.changes.push_back(assign(*slot++, members[i]));
      --out.free_slots;
    }
  }
}

void Membership::note(const Change& change) {
  switch (change.kind) {
    case ChangeKind::kRemove:
    case ChangeKind::kRelease:
      leaving_.insert(change.server);
      return;
    case ChangeKind::kAdd:
    case ChangeKind::kReturn:
    case ChangeKind::kAssign:
      leaving_.erase(change.server);
      return;
    case ChangeKind::kReset:
    case ChangeKind::kRestore:
    case ChangeKind::kPush:
    case ChangeKind::kUndrain:
      return;
  }
}

}  // namespace spillway::app::balancing
