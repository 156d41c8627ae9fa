#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/agent_check.h"
#include "adapters/cpu_reader.h"
#include "adapters/load_poller.h"
#include "adapters/peer_exchange.h"
#include "adapters/redis_samples.h"
#include "adapters/registry.h"
#include "adapters/spot_watch.h"
#include "app/agent/agent_config.h"
#include "app/agent/departure.h"
#include "app/agent/files.h"
#include "app/agent/meter.h"
#include "app/agent/orders.h"
#include "base/result.h"
#include "base/time.h"
#include "capacity/law.h"
#include "capacity/reading.h"
#include "capacity/sample.h"
#include "capacity/weight.h"
#include "capacity/zone_view.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/signals.h"
#include "net/timer_wheel.h"
#include "observe/log.h"
#include "observe/supervisor.h"

namespace spillway::app::agent {

/// What the agent counts beside its parts.
struct AgentCounts {
  uint64_t ticks = 0, decisions = 0;
  std::array<uint64_t, capacity::kReasons> reasons{};  ///< Decisions that each acted in.
  std::array<uint64_t, 2> spot_notices{};              ///< By adapters::SpotNotice.
  uint64_t own_id_heard = 0;                           ///< Samples of another process under our id.
  uint64_t orders_refused = 0;
  uint64_t state_failures = 0;
  uint64_t reloads = 0, reloads_refused = 0;
};

/// The running agent: each period it reads the processor and the server's counts, lets the law
/// decide, sends its sample and sets the line that HAProxies are answered with.
///
/// A server found at work says only "up" until the first decision, so that HAProxy keeps the weight
/// it has; a newcomer says the least weight, listens to its peers for two periods and then grows.
/// SIGTERM drains and ends when nothing is in flight; a second one, or SIGINT, ends at once without
/// a word to HAProxy. SIGUSR1 freezes and unfreezes. SIGHUP reads the configuration anew, for the
/// sections law, drain and peers.list; a bad one changes nothing.
///
/// Thread rule: all of it on one thread.
class Service final : private net::Timer, private adapters::RegistryListener {
 public:
  /// The configuration as it is now; the error has every problem, a line each.
  using Read = std::function<base::Result<AgentConfig, std::string>()>;

  /// `read`: null: there is no reload.
  explicit Service(AgentConfig config, Read read = {});
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();

  /// Empty when all is open; else one sentence.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Serves until stopped. `started` is told the addresses once both listeners accept.
  void run(const std::function<void(const std::string& listen, const std::string& admin)>& started);

 private:
  friend std::string metrics_text(const Service& service);
  friend std::string status_json(const Service& service);

  // service.cc
  void open_listeners();
  void open_sharing();
  void open_registry();
  void resume();
  void on_signal(int number);
  void on_notice(adapters::SpotNotice notice, std::string_view text);
  void on_registry(const adapters::RegistryView& view) override;
  void take_sample(const capacity::Sample& sample);

  // service_tick.cc
  void on_timer(base::Instant now) override;
  void begin_tick();
  void end_tick(const std::optional<Meter::Load>& load);
  void gather_samples();
  void follow_size();
  void decide(base::Instant now, const capacity::Reading& reading);
  void share(base::Instant now);
  void refresh_orders(base::Instant now);
  void set_reply(base::Instant now);
  void follow_departure(base::Instant now);
  void write_emf(base::Instant now);
  void save(base::Instant now, bool at_once);
  void end();
  [[nodiscard]] base::Instant next_tick(base::Instant now) const;
  [[nodiscard]] bool warming(base::Instant now) const;

  [[nodiscard]] bool dry_run() const { return config_.dry_run || orders_.dry_run; }

  [[nodiscard]] bool gate_open() const { return !config_.ready || gate_passed_; }

  // service_reload.cc
  std::string reload();
  std::string try_reload();

  // service_admin.cc
  [[nodiscard]] net::Response answer(const net::Request& request);
  [[nodiscard]] std::optional<net::Response> give_order(const net::Request& request);
  void note_orders(std::string_view by);

  AgentConfig config_;
  Read read_;
  std::string error_;
  net::OsClock clock_;
  net::Reactor reactor_;
  std::unique_ptr<net::SignalSource> signals_;  // before whatever starts threads
  observe::Log log_;
  int64_t started_at_ms_;
  capacity::ZoneView view_;
  adapters::CpuReader cpu_;
  capacity::Law law_;
  capacity::SentWeight sent_;
  Meter meter_;
  Departure departure_;
  std::unique_ptr<adapters::AgentCheckServer> agent_;
  std::unique_ptr<net::Server> admin_;
  std::unique_ptr<adapters::LoadPoller> load_, ready_;
  std::unique_ptr<adapters::PeerExchange> peers_;
  std::vector<std::string> unknown_peers_;  ///< As logged.
  std::unique_ptr<adapters::RedisSamples> redis_;
  std::unique_ptr<adapters::Registry> registry_;
  std::unique_ptr<adapters::SpotWatch> spot_;
  std::unique_ptr<LineFile> emf_, record_;
  observe::Supervisor supervisor_{observe::supervisor_of_environment()};

  OperatorOrders given_;  ///< Over HTTP and by signal.
  OperatorOrders file_orders_;
  OperatorOrders orders_;
  std::string orders_error_;  ///< Of the file as it is now.
  std::optional<capacity::Decision> decision_;
  capacity::Reading reading_;
  AgentCounts counts_;
  double resumed_weight_ = 0;
  bool resumed_ = false;
  bool gate_passed_ = false;
  bool load_answered_ = false;
  bool announced_ = false;
  bool left_ = false;             ///< Our sample was taken out of the store.
  base::Instant listen_until_{};  ///< A start without a past: peers are heard first.
  base::Instant emf_at_{};
  base::Instant saved_at_{};
};

/// GET /metrics.
[[nodiscard]] std::string metrics_text(const Service& service);
/// GET /status.
[[nodiscard]] std::string status_json(const Service& service);

}  // namespace spillway::app::agent
