#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "adapters/catalog_source.h"
#include "adapters/geo_file.h"
#include "app/bidder/bidder_config.h"
#include "app/bidder/catalog_loader.h"
#include "app/bidder/deployment.h"
#include "app/bidder/flight_tables.h"
#include "app/bidder/redis_stores.h"
#include "app/bidder/self_check.h"
#include "app/bidder/spend_file.h"
#include "app/bidder/worker.h"
#include "app/serving/circuits.h"
#include "app/serving/closing.h"
#include "app/serving/life_signs.h"
#include "base/recent_quantile.h"
#include "base/time.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pacing/pacer.h"
#include "bidder/scoring/model_set.h"
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

namespace spillway::app::bidding {

/// What a Service is beside its configuration.
struct ServiceParts {
  std::string config_path;  ///< Read again at a reload; empty: there is no file.
  std::unique_ptr<adapters::CatalogSource> catalog;
  bool is_demo = false;  ///< Notices come to this listener, wherever it is.
  std::string note;      ///< For the first log line: what is not real; empty: all is.
};

/// The running bidder: workers on threads of their own, the catalog's loader on another, and on the
/// caller's a control reactor for ticks, the admin listener, signals and reloads.
///
/// It ends as the exchange does: SIGTERM or SIGINT says not ready and serves on for
/// `drain_announce`; then the listener closes, losing no request sent before; then it waits for
/// connections and for wins not written yet, `stop_timeout` at most. A second signal ends it at
/// once.
///
/// Thread rule: all of it on one thread.
class Service final : private net::Timer {
 public:
  Service(BidderConfig config, ServiceParts parts);
  ~Service();

  /// Empty when all listeners are open; else one sentence.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Serves until stopped. `started` is told the addresses once both listeners accept. False when a
  /// request had to be cut off at the end.
  bool run(const std::function<void(const std::string& listen, const std::string& admin)>& started);

 private:
  void make_stores();
  void open_listeners();
  [[nodiscard]] std::string load_models(const BidderConfig& config);
  [[nodiscard]] std::string open_geo();
  [[nodiscard]] std::string open_spend();
  void restore_spend();
  void save_spend(base::Instant now);
  void take_news(CatalogNews news);
  void deploy();
  std::string reload();
  std::string try_reload();
  [[nodiscard]] observe::AdminHooks hooks();
  [[nodiscard]] std::string metrics();
  void on_timer(base::Instant now) override;
  void on_signal(int number);
  void keep_flights();
  void check_self(base::Instant now);
  void begin_stop();
  void go_on_stopping(base::Instant now);
  void end_stop();
  [[nodiscard]] bool is_over() const;

  [[nodiscard]] bool is_ready() const { return checked_ && !closing_.begun(); }

  [[nodiscard]] size_t waiting_wins() const;

  ServiceParts parts_;
  std::shared_ptr<const BidderConfig> config_;
  std::string error_;
  net::OsClock clock_;
  net::Reactor control_;
  std::unique_ptr<net::SignalSource> signals_;  // before whatever starts threads
  observe::Log log_;
  resilience::Registry registry_;
  Circuits circuits_{registry_, log_};
  uint64_t process_;
  Shared shared_;
  std::shared_ptr<net::TlsServer> tls_;
  std::unique_ptr<const adapters::GeoFile> geo_;
  std::shared_ptr<const bidder::NoticeSigner> signer_;
  std::shared_ptr<const LoadedCatalog> catalog_;
  FlightTables flights_;  ///< Of it.
  std::shared_ptr<const bidder::ModelSet> models_;
  bidder::ModelReload model_reload_;
  std::shared_ptr<const Deployment> deployment_;
  SelfCheck self_check_;
  std::unique_ptr<SpendFile> spend_;         ///< Null: spend is not kept.
  std::vector<bidder::Spent> spent_before_;  ///< Until the first catalog.
  bool spend_restored_ = false;
  base::Instant save_spend_at_{};
  std::vector<std::unique_ptr<Worker>> workers_;
  /// Given to workers, and freed here: a worker must not spend its requests' time on it.
  std::vector<std::shared_ptr<bidder::PacerTable>> pacer_tables_;
  const LoadedCatalog* paced_ = nullptr;   ///< The catalog of the newest of them.
  std::vector<const RedisStores*> redis_;  ///< The workers'; none without Redis.
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<net::Server> admin_;
  base::RecentQuantile recent_answers_;  ///< Times; of GET /load.
  std::vector<std::thread> threads_;
  std::unique_ptr<CatalogLoader> loader_;  // ends before what it tells
  observe::Supervisor supervisor_{observe::supervisor_of_environment()};
  LifeSigns life_{supervisor_};
  Closing closing_;
  bool checked_ = false;      ///< The self-check has passed.
  base::Instant check_at_{};  ///< Not before.
  bool clean_ = true;
  int64_t catalog_loaded_ms_ = 0;  ///< When the one in use was read; 0: none yet.
  uint64_t catalog_loads_ = 0, catalog_unchanged_ = 0, catalog_failures_ = 0;
  uint64_t no_accounts_ = 0;  ///< Campaigns that found no room in the grant.
  uint64_t reloads_ = 0, reloads_refused_ = 0;
};

}  // namespace spillway::app::bidding
