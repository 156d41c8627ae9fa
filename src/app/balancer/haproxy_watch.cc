#include "app/balancer/haproxy_watch.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "adapters/haproxy_client.h"
#include "adapters/registry.h"
#include "app/balancer/balancer_config.h"
#include "app/balancer/change.h"
#include "app/balancer/effect.h"
#include "app/balancer/fleet.h"
#include "app/balancer/picture.h"
#include "app/balancer/watchdog.h"
#include "net/reactor.h"
#include "observe/log.h"

namespace spillway::app::balancing {

using observe::Level;
using observe::quoted;

HaproxyWatch::HaproxyWatch(net::Reactor& reactor, const HaproxyPlace& place,
                           const BalancerConfig& config, const Fleet& fleet, observe::Log& log,
                           bool applies)
    : reactor_(reactor),
      place_(place),
      backend_(config.backend),
      fleet_(fleet),
      log_(log),
      applies_(applies),
      client_(reactor, place.socket, config.command_timeout),
      membership_(config.backend, config.membership),
      watchdog_(config.backend, config.watchdog),
      effect_(config.effect),
      state_file_(place.state_file) {}

void HaproxyWatch::configure(const BalancerConfig& config) {
  membership_.set_settings(config.membership);
  watchdog_.set_settings(config.watchdog);
  effect_ = Effect(config.effect);
}

bool HaproxyWatch::round(std::function<void(bool)> done) {
  if (done_) {
    counters_.skipped.add();
    return false;
  }
  done_ = std::move(done);
  client_.run(picture_commands(backend_),
              [this](const adapters::HaproxyAnswers& answers) { take(answers); });
  return true;
}

void HaproxyWatch::fail(const std::string& error) {
  if (error_.empty()) {
    log_.event(Level::kError, "event=haproxy_unreadable haproxy={} reason={}", place_.name,
               quoted(error));
  }
  error_ = error;
  picture_.reset();
  finish(false);
}

void HaproxyWatch::take(const adapters::HaproxyAnswers& answers) {
  if (!answers) {
    fail(answers.error().text);
    return;
  }
  auto picture = picture_of(*answers, backend_);
  if (!picture) {
    counters_.unreadable.add();
    fail(picture.error());
    return;
  }
  counters_.rounds.add();
  keep_states((*answers)[kStatesAnswer]);
  if (!error_.empty()) {
    log_.event(Level::kInfo, "event=haproxy_readable haproxy={}", place_.name);
    error_.clear();
  }
  const Picture& seen = picture_.emplace(std::move(*picture));
  decide(seen);
  judge_effect(seen);
  apply();
}

/// Server to class, by name or (slots) by address.
ServerClasses HaproxyWatch::classes(const Picture& picture) const {
  ServerClasses out;
  for (const adapters::RegistryInstance& one : fleet_.members) {
    if (one.server_class.empty()) {
      continue;
    }
    if (picture.servers.contains(one.id)) {
      out[one.id] = one.server_class;
      continue;
    }
    for (const auto& [server, its] : picture.servers) {
      if (its.state.address == one.host && its.state.port == one.port) {
        out[server] = one.server_class;
      }
    }
  }
  return out;
}

void HaproxyWatch::decide(const Picture& picture) {
  wanted_ = watchdog_.look(picture, classes(picture), reactor_.refresh());
  if (watchdog_.restarted()) {
    counters_.restarts.add();
    membership_.forget();
    log_.event(Level::kWarn, "event=haproxy_restarted haproxy={} pid={} version={}", place_.name,
               picture.info.pid, picture.info.version);
  }
  plan_ = {};
  if (fleet_.reconciles && fleet_.known) {
    plan_ = membership_.plan(picture, fleet_.members, watchdog_.lost());
    std::erase_if(wanted_, [&](const Change& one) {
      return std::ranges::any_of(plan_.changes, [&](const Change& other) {
        return other.server == one.server &&
               (other.kind == ChangeKind::kRemove || other.kind == ChangeKind::kRelease);
      });
    });
    std::ranges::move(plan_.changes, std::back_inserter(wanted_));
  } else if (fleet_.reconciles) {
    plan_.declined.at(static_cast<size_t>(Declined::kRegistryUnknown)) = 1;
  }
  for (size_t i = 0; i < kDeclines; ++i) {
    counters_.declined.at(i).add(plan_.declined.at(i));
  }
}

void HaproxyWatch::judge_effect(const Picture& picture) {
  auto report = effect_.add(picture, fleet_.weights_differ, reactor_.now());
  if (!report) {
    return;
  }
  counters_.windows.add();
  if (report->cause != EffectCause::kNone) {
    counters_.warnings.at(static_cast<size_t>(report->cause)).add();
    const ServerEffect& worst = report->servers[report->worst_server];
    log_.event(Level::kWarn,
               "event=weights_without_effect haproxy={} server={} expected_ratio={:.3f} "
               "received_ratio={:.3f} held_ratio={:.3f} cause={} mode={} algorithm={}",
               place_.name, report->worst_server, worst.expected, worst.received, worst.held,
               to_string(report->cause), picture.mode, picture.algorithm);
  }
  report_ = std::move(report);
}

void HaproxyWatch::apply() {
  for (const Change& change : wanted_) {
    log_.event(Level::kInfo, "event={} haproxy={} kind={} server={} why={}",
               applies_ ? "change" : "change_wanted", place_.name, to_string(change.kind),
               change.server, quoted(change.why));
  }
  if (wanted_.empty() || !applies_) {
    finish(true);
    return;
  }
  std::vector<std::string> commands;
  for (const Change& change : wanted_) {
    commands.insert(commands.end(), change.commands.begin(), change.commands.end());
  }
  // A reload right after them is to find them in the state file.
  commands.push_back(picture_commands(backend_)[kStatesAnswer]);
  client_.run(commands, [this](const adapters::HaproxyAnswers& answers) { end_changes(answers); });
}

void HaproxyWatch::end_changes(const adapters::HaproxyAnswers& answers) {
  if (!answers) {
    // Some may have been done: what we put into maintenance must be ours to end.
    for (const Change& change : wanted_) {
      membership_.note(change);
    }
    fail(answers.error().text);
    return;
  }
  keep_states(answers->back());
  bool all = true;
  size_t at = 0;
  for (const Change& change : wanted_) {
    const ChangeEnd end = judge(change, *answers, at);
    at += change.commands.size();
    membership_.note(change);
    if (end.done) {
      counters_.changes.at(static_cast<size_t>(change.kind)).add();
      if (change.kind == ChangeKind::kRemove) {
        membership_.deleted(change.server);
      }
      continue;
    }
    const Declined why = end.still_connected ? Declined::kStillConnected : Declined::kRefused;
    counters_.declined.at(static_cast<size_t>(why)).add();
    all = all && end.still_connected;
    log_.event(end.still_connected ? Level::kDebug : Level::kError,
               "event=change_declined haproxy={} kind={} server={} reason={} said={}", place_.name,
               to_string(change.kind), change.server, to_string(why), quoted(end.said));
  }
  finish(all);
}

void HaproxyWatch::keep_states(const std::string& states) {
  const bool was_well = state_file_.error().empty();
  if (applies_ && !state_file_.keep(states) && was_well) {
    log_.event(Level::kError, "event=state_file_unwritable haproxy={} reason={}", place_.name,
               quoted(state_file_.error()));
  }
}

void HaproxyWatch::finish(bool ok) {
  if (auto done = std::exchange(done_, nullptr)) {
    done(ok);
  }
}

}  // namespace spillway::app::balancing
