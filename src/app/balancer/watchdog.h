#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/balancer/change.h"
#include "app/balancer/drain_watch.h"
#include "app/balancer/picture.h"
#include "base/time.h"

namespace spillway::app::balancing {

struct WatchdogSettings {
  bool enabled = true;
  /// An agent that is silent for so long is dead. Larger: a restart of the agent resets less, its
  /// last weight stands longer. [100 ms, 10 min].
  base::Duration dead_after = std::chrono::seconds(3);
  enum class Neutral : uint8_t {
    kClassMean,  ///< The mean weight of servers of its class whose agents speak; else of all such.
    kInitial,    ///< The configured weight.
  };
  Neutral neutral = Neutral::kClassMean;
  /// A drain by an agent that has died since is ended after this, when the server is healthy all
  /// the while. Longer than a server may take to end. Zero: it stands for ever. [0, 24 h].
  base::Duration drain_after = std::chrono::minutes(10);
};

/// Server to class, where it is known.
using ServerClasses = std::map<std::string, std::string, std::less<>>;

/// Looks after the weights and drains of one backend of one HAProxy, which a dead agent leaves as
/// they were for ever, and weights that a restart forgets. Pure; one thread.
class Watchdog {
 public:
  Watchdog(std::string backend, WatchdogSettings settings);

  void set_settings(const WatchdogSettings& settings) {
    settings_ = settings;
    drains_.set_stale_after(settings.drain_after);
  }

  /// What to do at `now`, given each new picture. A picture of another process than the last one's
  /// brings the weights back that were in force, where no agent has spoken since.
  [[nodiscard]] std::vector<Change> look(const Picture& picture, const ServerClasses& classes,
                                         base::Instant now);

  /// Weights from before the last restart, for servers that are not there yet.
  [[nodiscard]] const std::map<std::string, uint32_t, std::less<>>& lost() const { return lost_; }

  /// HAProxy is another process than at the last picture.
  [[nodiscard]] bool restarted() const { return restarted_; }

  /// Servers whose agent is dead now.
  [[nodiscard]] uint32_t dead() const;

  [[nodiscard]] bool is_dead(std::string_view server) const;

  /// Its agent ordered the drain it is in.
  [[nodiscard]] bool is_drained_by_agent(std::string_view server) const {
    return drains_.is_of_agent(server);
  }

 private:
  struct Server {
    uint32_t weight = 0;  ///< As last seen.
    bool silent = false;
    base::Instant silent_since{};
    bool reset = false;   ///< We gave it a neutral weight.
    uint32_t before = 0;  ///< What it had then.
    uint32_t given = 0;   ///< What we gave.
    bool speaks = false;  ///< Again, since the last picture.
  };

  [[nodiscard]] std::vector<Change> bring_back(const Picture& picture, base::Instant now);

  /// What one look is made with, and the changes that come of it.
  struct Look {
    const Picture& picture;
    const ServerClasses& classes;
    base::Instant now;
    std::vector<Change>& out;
  };

  void judge_drain(const std::string& name, const ServerPicture& server, const Look& look);
  void judge_agent(const std::string& name, const ServerPicture& server, Server& seen,
                   const Look& look) const;
  [[nodiscard]] uint32_t neutral_weight(const std::string& name, const Picture& picture,
                                        const ServerClasses& classes) const;
  [[nodiscard]] Change weigh(ChangeKind kind, const std::string& server, uint32_t weight,
                             std::string why) const;

  std::string backend_;
  WatchdogSettings settings_;
  DrainWatch drains_;
  std::map<std::string, Server, std::less<>> servers_;
  std::map<std::string, uint32_t, std::less<>> lost_;
  base::Instant lost_until_{};
  uint64_t pid_ = 0;
  uint64_t uptime_s_ = 0;
  bool restarted_ = false;
};

}  // namespace spillway::app::balancing
