// Another configuration for a running agent.
#include <string>
#include <utility>

#include "app/agent/agent_config.h"
#include "app/agent/departure.h"
#include "app/agent/service.h"
#include "capacity/law_settings.h"
#include "observe/log.h"

namespace spillway::app::agent {

using observe::Level;

std::string Service::reload() {
  if (!read_) {
    return "there is no file to read";
  }
  std::string problems = try_reload();
  if (problems.empty()) {
    ++counts_.reloads;
    log_.event(Level::kInfo, "event=reloaded taken=\"law drain peers.list\" law={} peers={}",
               to_string(config_.law.law), config_.peers ? config_.peers->peers.size() : 0);
  } else {
    ++counts_.reloads_refused;
    log_.event(Level::kError, "event=reload_refused reason={}", observe::quoted(problems));
  }
  return problems;
}

// All of it is read and judged, and what can change under a running server is taken.
std::string Service::try_reload() {
  auto next = read_();
  if (!next) {
    return std::move(next.error());
  }
  if (next->law.period != config_.law.period) {
    return "law.period: wants a restart";
  }
  if (next->id != config_.id || next->zone != config_.zone) {
    return "agent.id and agent.zone: want a restart";
  }
  if (next->peers.has_value() != config_.peers.has_value()) {
    return "peers: wants a restart";
  }
  config_.law = next->law;
  law_.change(config_.law);
  config_.drain = next->drain;
  departure_.set_settings(config_.drain);
  if (peers_ != nullptr && next->peers) {
    peers_->set_peers(next->peers->peers);
    config_.peers = std::move(next->peers);
  }
  return {};
}

}  // namespace spillway::app::agent
