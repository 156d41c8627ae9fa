#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "app/balancer/picture.h"
#include "base/time.h"

namespace spillway::app::balancing {

/// Finds drains that have outlived their reason. HAProxy keeps a drain that an agent ordered until
/// an agent says "ready"; one that died, or came back and does not know, never does.
///
/// A drain counts as the agent's when the agent, which named a health word before ("up"), stopped
/// to name one ("drain") as the drain began; every other is a person's and stands. Pure; one
/// thread. Memory: that of the servers looked at.
class DrainWatch {
 public:
  /// `stale_after`: how long a server whose agent is silent, and that is healthy all the while,
  /// stays drained; zero: for ever.
  explicit DrainWatch(base::Duration stale_after) : stale_after_(stale_after) {}

  void set_stale_after(base::Duration stale_after) { stale_after_ = stale_after; }

  /// Each server of each new picture. "" or why its drain is to be ended: its agent says "up"
  /// again, it was down and is healthy again, or `stale_after` is over.
  [[nodiscard]] std::string_view look(std::string_view name, const ServerPicture& server,
                                      base::Instant now);

  /// Forgets servers that are not in the picture.
  void keep_only(const Picture& picture);

  [[nodiscard]] bool is_of_agent(std::string_view name) const;

 private:
  struct Server {
    bool named_health = false;  ///< Its agent, at the last look.
    bool drained = false;       ///< At the last look, by whomever.
    bool of_agent = false;      ///< The drain in force.
    bool was_down = false;      ///< Since it began.
    bool silent = false;
    base::Instant silent_since{};
    uint32_t says_up = 0;  ///< Looks in a row, drained.
  };

  base::Duration stale_after_;
  std::map<std::string, Server, std::less<>> servers_;
};

}  // namespace spillway::app::balancing
