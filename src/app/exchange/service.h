#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/config/exchange_config.h"
#include "app/exchange/bid_alerts.h"
#include "app/exchange/dsp_hosts.h"
#include "app/exchange/dsp_tls.h"
#include "app/exchange/endpoint_use.h"
#include "app/exchange/notice_desk.h"
#include "app/exchange/rate_source.h"
#include "app/exchange/recorder.h"
#include "app/exchange/worker.h"
#include "app/serving/circuits.h"
#include "app/serving/closing.h"
#include "app/serving/life_signs.h"
#include "base/recent_quantile.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/signals.h"
#include "net/timer_wheel.h"
#include "net/tls.h"
#include "observe/admin.h"
#include "observe/log.h"
#include "observe/supervisor.h"
#include "resilience/guard.h"

namespace spillway::app {

/// The running exchange: workers on threads of their own, and on the caller's thread a control
/// reactor for the guards' ticks, the admin listener, signals and reloads.
///
/// Told by SIGTERM or SIGINT it ends in three steps: it says that it is not ready and serves on for
/// `drain_announce`; it closes the listener as net::Server does, losing no request sent before; it
/// waits for connections and calls, `stop_timeout` at most, and then for notices,
/// `notices.stop_timeout` of it at most. A second signal ends it at
/// once.
///
/// Thread rule: all of it on one thread.
class Service final : private net::Timer {
 public:
  /// `config_path` is read again at each reload.
  Service(ExchangeConfig config, std::string config_path);
  ~Service();

  /// Empty when all listeners are open; else one sentence.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Serves until stopped. `started` is told the addresses once both listeners accept.
  /// False when an auction, a call or an unanswered request had to be cut off at the end.
  bool run(const std::function<void(const std::string& listen, const std::string& admin)>& started);

 private:
  void open_listeners();
  void deploy(std::shared_ptr<const ExchangeConfig> config);
  EndpointStats& stats_of(uint32_t worker, const std::string& key);
  void forget(const std::string& key);
  std::string reload();
  std::string try_reload();
  std::string take_rates(const std::string& text);
  std::string judge_file(ExchangeConfig& next, TlsOfDsps& tls);
  [[nodiscard]] observe::AdminHooks hooks();
  [[nodiscard]] std::string metrics();
  [[nodiscard]] double rates_age_s() const;
  void on_timer(base::Instant now) override;
  void on_signal(int number);
  void complain_of_recorder(base::Instant now);
  void begin_stop();
  void go_on_stopping(base::Instant now);
  void end_stop();
  [[nodiscard]] bool has_served() const;

  std::string config_path_;
  std::shared_ptr<const ExchangeConfig> config_;
  std::string error_;
  net::OsClock clock_;
  net::Reactor control_;
  std::unique_ptr<net::SignalSource> signals_;  // before whatever starts threads
  observe::Log log_;
  Recorder recorder_;
  resilience::Registry registry_;
  Circuits circuits_{registry_, log_};
  EndpointStatsTable stats_;
  TlsOfDsps tls_of_dsps_;
  std::shared_ptr<net::TlsServer> tls_;  ///< Of the auctions' listener; null: plain.
  BidAlerts bid_alerts_;
  NoticeDesk notices_;
  RateSource rates_;
  DspHosts hosts_;
  EndpointUse use_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<net::Server> admin_;
  base::RecentQuantile recent_answers_;  ///< Times; of GET /load.
  std::vector<std::thread> threads_;
  observe::Supervisor supervisor_{observe::supervisor_of_environment()};
  LifeSigns life_{supervisor_};
  Closing closing_;
  base::Instant notices_by_ = base::kNever;  ///< In a stop, once all else is done.
  uint64_t recorder_errors_said_ = 0;
  base::Instant recorder_silent_until_{};
  uint64_t reloads_ = 0;
  uint64_t reloads_refused_ = 0;
  bool ready_ = false;
  bool clean_ = true;
};

}  // namespace spillway::app
