#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/registry.h"
#include "app/balancer/change.h"
#include "app/balancer/picture.h"
#include "base/time.h"

namespace spillway::app::balancing {

struct MembershipSettings {
  enum class Mode : uint8_t {
    kDynamic,  ///< `add server` and `del server`.
    kSlots,    ///< Servers made by the configuration, as by server-template, are given addresses.
  };

  Mode mode = Mode::kDynamic;
  std::string slot_prefix = "srv";  ///< Slots are servers named by it and a number.
  std::vector<std::string> keep{};  ///< Servers that are never removed: not the registry's.
  uint32_t max_changes = 200;       ///< Of one HAProxy and round. [1, 4 095].

  // Of servers that are added. Slots have their own from the configuration.
  uint32_t weight = 100;  ///< Until the agent speaks; its percents are of this. [1, 256].
  base::Duration check_inter = std::chrono::seconds(1);
  uint32_t fall = 2;
  uint32_t rise = 1;
  base::Duration slowstart{};
  base::Duration agent_inter = std::chrono::milliseconds(500);
  std::string agent_send = "spillway/1";
  std::string options{};  ///< More words of the server line, such as "proto h2".
};

struct MembershipPlan {
  std::vector<Change> changes;
  std::array<uint32_t, kDeclines> declined{};
  uint32_t free_slots = 0;
  uint32_t by_people = 0;  ///< Members in maintenance by somebody else's order.
  uint32_t by_resolver = 0;
};

/// Makes the servers of one backend of one HAProxy those of the registry. Pure: changes are carried
/// out by the caller, who tells done(). In dynamic mode the backend is the registry's: servers that
/// it lacks are removed, but those to keep. Instances are told apart by name (dynamic) or by
/// address and port (slots). One thread.
class Membership {
 public:
  Membership(std::string backend, MembershipSettings settings);

  void set_settings(MembershipSettings settings) { settings_ = std::move(settings); }

  /// What to do now. `restored`: weights from before a restart, for servers that are added again.
  [[nodiscard]] MembershipPlan plan(const Picture& picture,
                                    const std::vector<adapters::RegistryInstance>& members,
                                    const std::map<std::string, uint32_t, std::less<>>& restored);

  /// `change` was carried out, or half so: what we have put into maintenance is ours to end.
  void note(const Change& change);

  void deleted(std::string_view server) { leaving_.erase(std::string(server)); }

  /// HAProxy has forgotten everything.
  void forget() { leaving_.clear(); }

 private:
  void plan_dynamic(const Picture& picture, const std::vector<adapters::RegistryInstance>& members,
                    const std::map<std::string, uint32_t, std::less<>>& restored,
                    MembershipPlan& out);
  void plan_slots(const Picture& picture, const std::vector<adapters::RegistryInstance>& members,
                  MembershipPlan& out) const;
  [[nodiscard]] Change add(const adapters::RegistryInstance& instance, uint32_t weight) const;
  [[nodiscard]] Change remove(const std::string& server, std::string why) const;
  [[nodiscard]] Change assign(const std::string& slot,
                              const adapters::RegistryInstance& instance) const;
  [[nodiscard]] bool is_slot(std::string_view server) const;
  [[nodiscard]] std::string path(std::string_view server) const;

  std::string backend_;
  MembershipSettings settings_;
  std::set<std::string, std::less<>> leaving_;  ///< Put into maintenance by us.
};

}  // namespace spillway::app::balancing
