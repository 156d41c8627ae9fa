#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/registry.h"
#include "app/balancer/balancer_config.h"
#include "app/balancer/fleet.h"
#include "app/balancer/haproxy_watch.h"
#include "base/counter.h"
#include "base/result.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/signals.h"
#include "net/timer_wheel.h"
#include "observe/log.h"

namespace spillway::app::balancing {

/// The registry of a configuration, or why there cannot be one; null for kNone.
[[nodiscard]] base::Result<std::unique_ptr<adapters::Registry>, std::string> open_registry(
    net::Reactor& reactor, const RegistryConfig& config);

/// How a run ends and what it may do.
struct RunOptions {
  bool once = false;    ///< One round that reconciles, and the end.
  bool applies = true;  ///< False: nothing is changed.
  /// Reads the configuration anew, for SIGHUP and POST /admin/reload; the error has every problem,
  /// a line each. Null: there is no reload.
  std::function<base::Result<BalancerConfig, std::string>()> read{};
};

/// `spillway balancer`: one thread, one reactor, rounds with each HAProxy. Members are put in place
/// from the first set that the registry is believed with; until then, and while it is away, nothing
/// is added or removed.
///
/// SIGHUP reads the configuration anew: whole, or nothing of it. A bad one is logged with all that
/// is wrong and leaves everything as it was.
class Balancer final : private adapters::RegistryListener, private net::Timer {
 public:
  Balancer(BalancerConfig config, RunOptions options);
  ~Balancer();

  /// Empty, or why it cannot run.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Until SIGTERM or SIGINT, or the end of --once. `started`: with the admin listener's address,
  /// "" for --once. False when --once could not do all it wanted.
  bool run(const std::function<void(const std::string& admin)>& started);

  /// Everything about each HAProxy and the registry, as one JSON object.
  [[nodiscard]] std::string status_json() const;

  [[nodiscard]] std::string metrics_text() const;

  [[nodiscard]] const std::vector<std::unique_ptr<HaproxyWatch>>& watches() const {
    return watches_;
  }

 private:
  void on_registry(const adapters::RegistryView& view) override;
  void on_timer(base::Instant now) override;
  void begin_rounds();
  void on_round(bool ok);
  void after_rounds();
  void begin_watching();
  void end_once(bool ok);
  void compare_weights();

  // balancer_reload.cc
  std::string reload();
  std::string try_reload();
  void take_next();

  void answer(const net::Request& request, net::Reply reply);
  [[nodiscard]] bool ready() const;

  /// What takes the place of the configuration in force once no round is under way.
  struct Next {
    BalancerConfig config;
    std::unique_ptr<adapters::Registry> registry;
  };

  BalancerConfig config_;
  RunOptions options_;
  net::OsClock clock_;
  net::Reactor reactor_;
  std::unique_ptr<net::SignalSource> signals_;
  observe::Log log_;
  std::string error_;
  Fleet fleet_;
  std::unique_ptr<adapters::Registry> registry_;
  std::vector<std::unique_ptr<HaproxyWatch>> watches_;
  std::unique_ptr<net::Server> admin_;
  std::map<std::string, uint32_t> differing_;  ///< Server to rounds in a row.
  uint32_t differ_now_ = 0;
  size_t under_way_ = 0;
  std::unique_ptr<Next> next_;
  base::Counter reloads_, reloads_refused_;
  bool all_ok_ = true;
  bool watching_ = false;
  bool reconciled_ = false;  ///< The rounds under way began with a known fleet.
  bool ok_ = true;
  base::Instant give_up_at_ = base::kNever;
};

}  // namespace spillway::app::balancing
