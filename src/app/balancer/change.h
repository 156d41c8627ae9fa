#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::app::balancing {

/// What the balancer does to a server of HAProxy.
enum class ChangeKind : uint8_t {
  kAdd,      ///< A dynamic server, for an instance that has none.
  kRemove,   ///< Out of service and deleted, tried until it has no connection.
  kReturn,   ///< Its instance is back before it was deleted.
  kAssign,   ///< A free slot takes an instance.
  kRelease,  ///< A slot whose instance has gone.
  kReset,    ///< Its agent is silent: a neutral weight.
  kRestore,  ///< Its agent speaks again, without a weight: the one it had.
  kPush,     ///< HAProxy was restarted: the weight from before.
  kUndrain,  ///< A drain that a dead agent has left behind.
};
inline constexpr size_t kChangeKinds = 9;

/// Why something that was wanted is not done now.
enum class Declined : uint8_t {
  kByPeople,         ///< In maintenance by somebody else's order, which stands.
  kStillConnected,   ///< Not deleted before its connections have ended; tried again.
  kNoFreeSlot,       ///< More instances than slots.
  kRoundFull,        ///< More changes than a round makes; in the next.
  kRegistryUnknown,  ///< No set of members was ever read.
  kRefused,          ///< HAProxy said no; its words are in the log.
};
inline constexpr size_t kDeclines = 6;

[[nodiscard]] std::string_view to_string(ChangeKind kind);
[[nodiscard]] std::string_view to_string(Declined why);

struct Change {
  ChangeKind kind = ChangeKind::kAdd;
  std::string server;
  std::string why;                    ///< For people.
  std::vector<std::string> commands;  ///< Of the Runtime API, in order.
};

/// What came of a change, by HAProxy's answers to its commands.
struct ChangeEnd {
  bool done = false;
  bool still_connected = false;  ///< A removal that must wait.
  std::string said{};            ///< By HAProxy, when not done.
};

/// `answers`: to the change's commands, from `first` on.
[[nodiscard]] ChangeEnd judge(const Change& change, const std::vector<std::string>& answers,
                              size_t first);

}  // namespace spillway::app::balancing
