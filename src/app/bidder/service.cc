#include "app/bidder/service.h"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <signal.h>

#include "adapters/geo_file.h"
#include "adapters/time_zones.h"
#include "app/bidder/bidder_config.h"
#include "app/bidder/catalog_loader.h"
#include "app/bidder/deployment.h"
#include "app/bidder/flight_tables.h"
#include "app/bidder/load.h"
#include "app/bidder/metrics.h"
#include "app/bidder/redis_stores.h"
#include "app/bidder/worker.h"
#include "app/config/config_file.h"
#include "app/serving/listeners.h"
#include "app/serving/recent_answers.h"
#include "app/serving/wall_clock.h"
#include "base/time.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/notice.h"
#include "bidder/pacing/pacer.h"
#include "bidder/scoring/model_file.h"
#include "bidder/scoring/model_set.h"
#include "bidder/stages.h"
#include "bidder/time_zone.h"
#include "net/http.h"
#include "net/server.h"
#include "net/signals.h"
#include "net/tls.h"
#include "observe/admin.h"
#include "observe/log.h"
#include "resilience/guard.h"

namespace spillway::app::bidding {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kTick = 100ms;
constexpr size_t kAdminConnections = 100;
constexpr size_t kModelBytes = size_t{256} << 20;

std::vector<bidder::TimeZone> zones_of_rows(const bidder::CatalogRows& rows) {
  return adapters::time_zones_of(rows, wall_clock_ms() / 1'000);
}

uint64_t random_number() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

Service::Service(BidderConfig config, ServiceParts parts)
    : parts_(std::move(parts)),
      config_(std::make_shared<const BidderConfig>(std::move(config))),
      control_(clock_),
      signals_(std::make_unique<net::SignalSource>(
          control_, std::initializer_list<int>{SIGTERM, SIGINT, SIGHUP},
          [this](int number) { on_signal(number); })),
      log_(static_cast<observe::Level>(config_->log_level)),
      registry_(config_->workers, random_number()),
      process_(random_number()),
      shared_(*config_),
      self_check_(*config_) {
  if (!config_->tls.certificate_file.empty()) {
    auto tls = net::TlsServer::make(config_->tls);
    if (!tls) {
      error_ = "bidder.tls: " + tls.error();
      return;
    }
    tls_ = std::move(*tls);
  }
  error_ = load_models(*config_);
  if (error_.empty()) {
    error_ = open_geo();
  }
  if (error_.empty() && !shared_.events.error().empty()) {
    error_ = "events.file: " + shared_.events.error();
  }
  if (error_.empty()) {
    error_ = open_spend();
  }
  if (!error_.empty()) {
    return;
  }
  for (uint32_t i = 0; i < config_->workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(i, clock_, process_, *config_, shared_));
  }
  make_stores();
  open_listeners();
}

std::string Service::open_geo() {
  if (config_->catalog.geo_file.empty()) {
    return {};
  }
  auto file = adapters::GeoFile::open(config_->catalog.geo_file);
  if (!file) {
    return "catalog.geo_file: " + file.error();
  }
  geo_ = std::make_unique<const adapters::GeoFile>(std::move(*file));
  shared_.geo = {.call =
                     [](const void* context, std::string_view address, bidder::GeoFacts& out) {
                       out = static_cast<const adapters::GeoFile*>(context)->find(address);
                       return !out.empty();
                     },
                 .context = geo_.get()};
  return {};
}

Service::~Service() {
  loader_.reset();
  for (auto& worker : workers_) {
    worker->reactor().stop();
  }
  for (auto& thread : threads_) {
    thread.join();
  }
}

// One guard for all who ask this Redis: it has one health.
void Service::make_stores() {
  if (!config_->redis) {
    return;
  }
  auto& guard = registry_.at("redis", config_->redis->guard, clock_.now());
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    auto stores = std::make_unique<RedisStores>(
        workers_[i]->reactor(), *config_->redis, config_->segments,
        RedisStores::Place{.guard = guard,
                           .worker = i,
                           .seed = random_number(),
                           .cache = shared_.cap_cache ? &*shared_.cap_cache : nullptr},
        *workers_[i]);
    redis_.push_back(stores.get());
    workers_[i]->use(std::move(stores));
  }
}

void Service::open_listeners() {
  std::vector<net::Server::Worker> parts;
  parts.reserve(workers_.size());
  for (auto& worker : workers_) {
    parts.push_back({.reactor = worker->reactor(),
                     .handler = [w = worker.get()](const net::Request& request, net::Reply reply) {
                       w->on_request(request, std::move(reply));
                     }});
  }
  server_ = std::make_unique<net::Server>(config_->listen, config_->limits, std::move(parts),
                                          listener_settings(*config_, tls_));
  if (!server_->error().empty()) {
    error_ = server_->error();
    return;
  }
  for (auto& worker : workers_) {
    worker->watch(*server_);
  }
  std::vector<net::Server::Worker> control;
  control.push_back({.reactor = control_,
                     .handler = [all = hooks()](const net::Request& request, net::Reply reply) {
                       observe::answer_admin(all, request, std::move(reply));
                     }});
  net::ServerLimits limits;
  limits.connections = kAdminConnections;
  admin_ = std::make_unique<net::Server>(config_->admin_listen, limits, std::move(control));
  error_ = admin_->error();
}

bool Service::run(
    const std::function<void(const std::string& listen, const std::string& admin)>& started) {
  const auto listen = at_port(config_->listen, server_->port());
  const auto admin = at_port(config_->admin_listen, admin_->port());
  if (!parts_.note.empty()) {
    log_.event(observe::Level::kInfo, "event=demo note={}", observe::quoted(parts_.note));
  }
  for (auto& worker : workers_) {
    threads_.emplace_back([w = worker.get()] { w->reactor().run(); });
  }
  server_->start();
  admin_->start();
  started(listen, admin);
  log_.event(observe::Level::kInfo, "event=started listen={} admin={} workers={} catalog={}",
             listen, admin, workers_.size(), parts_.catalog->name());
  loader_ = std::make_unique<CatalogLoader>(
      std::move(parts_.catalog), config_->catalog.refresh, config_->rates, zones_of_rows,
      [this](CatalogNews news) {
        control_.post([this, said = std::move(news)]() mutable { take_news(std::move(said)); });
      });
  loader_->start();
  control_.timers().arm(*this, clock_.now() + kTick);
  control_.run();
  loader_.reset();
  for (auto& worker : workers_) {
    worker->reactor().stop();
  }
  for (auto& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  end_stop();
  return clean_;
}

// Models are read at the start and at each reload; a bad one keeps the old.
std::string Service::load_models(const BidderConfig& config) {
  auto answer = model_reload_.offer(config.scoring, [](const std::string& name) {
    auto bytes = read_whole_file(name, kModelBytes);
    return bytes ? std::optional(std::move(*bytes)) : std::nullopt;
  });
  if (answer.outcome == bidder::ModelReload::Outcome::kRefused) {
    return fmt::format("scoring: {}: {}", to_string(answer.error.code), answer.error.what);
  }
  if (answer.outcome == bidder::ModelReload::Outcome::kTaken) {
    models_ = std::move(answer.set);
  }
  return {};
}

void Service::take_news(CatalogNews news) {
  const double took_ms = base::to_ms(news.took);
  if (!news.error.empty()) {
    ++catalog_failures_;
    log_.event(catalog_ == nullptr ? observe::Level::kError : observe::Level::kWarn,
               "event=catalog_not_loaded took_ms={:.0f} reason={}", took_ms,
               observe::quoted(news.error));
    return;
  }
  catalog_loaded_ms_ = wall_clock_ms();
  if (news.catalog == nullptr) {
    ++catalog_unchanged_;
    return;
  }
  ++catalog_loads_;
  catalog_ = std::move(news.catalog);
  flights_ = catalog_->flights;
  no_accounts_ = shared_.grant.refresh(catalog_->budgets, wall_clock_ms() / 1'000);
  restore_spend();
  const auto& left_out = catalog_->catalog.left_out();
  size_t broken = 0;
  for (const size_t rows : left_out.broken) {
    broken += rows;
  }
  log_.event(broken > 0 || no_accounts_ > 0 ? observe::Level::kWarn : observe::Level::kInfo,
             "event=catalog_loaded took_ms={:.0f} line_items={} campaigns={} creatives={} "
             "broken_rows={} without_account={}",
             took_ms, catalog_->catalog.items().size(), catalog_->catalog.campaigns().size(),
             catalog_->catalog.creatives().size(), broken, no_accounts_);
  deploy();
}

void Service::deploy() {
  if (catalog_ == nullptr) {
    return;
  }
  if (!config_->notices.public_url.empty()) {
    const auto own = "http://" + at_port(config_->listen, server_->port());
    signer_ = std::make_shared<const bidder::NoticeSigner>(
        parts_.is_demo ? own : config_->notices.public_url, config_->keys);
  } else {
    signer_.reset();
  }
  const auto deployment = std::make_shared<const Deployment>(
      Deployment{.config = config_,
                 .catalog = catalog_,
                 .flights = flights_,
                 .models = models_,
                 .signer = signer_,
                 .shade = {.keep_ratio = config_->shade_keep_ratio}});
  const bool is_new = paced_ != catalog_.get();
  for (auto& worker : workers_) {
    std::shared_ptr<bidder::PacerTable> pacing;
    if (is_new) {
      pacing = std::make_shared<bidder::PacerTable>(catalog_->pacing);
      pacer_tables_.push_back(pacing);
    }
    worker->deploy(deployment, std::move(pacing));
  }
  paced_ = catalog_.get();
  deployment_ = deployment;
}

// The workers have the next table when its time comes; they are given the one behind it.
void Service::keep_flights() {
  if (catalog_ != nullptr && advance(flights_, catalog_->catalog, wall_clock_ms() / 1'000)) {
    deploy();
  }
}

void Service::check_self(base::Instant now) {
  if (checked_ || deployment_ == nullptr || now < check_at_) {
    return;
  }
  check_at_ = now + 1s;
  checked_ = self_check_.passes(*deployment_, shared_, clock_, wall_clock_ms() / 1'000);
  log_.event(checked_ ? observe::Level::kInfo : observe::Level::kError,
             "event=self_check passed={} reason={}", checked_, to_string(self_check_.reason()));
  if (checked_) {
    supervisor_.ready();
    if (!supervisor_.error().empty()) {
      log_.event(observe::Level::kWarn, "event=supervisor_unreachable reason={}",
                 observe::quoted(supervisor_.error()));
    }
  }
}

observe::AdminHooks Service::hooks() {
  return {.metrics = [this] { return metrics(); },
          .ready = [this] { return is_ready(); },
          .load =
              [this] {
                auto load = load_of(workers_, *server_, config_->shedding);
                load.p95 = recent_p95(workers_, clock_.now(), recent_answers_);
                return load;
              },
          .circuits = [this] { return observe::circuits_json(registry_); },
          .set_mode =
              [this](std::string_view key, resilience::Mode mode, base::Duration lasting,
                     std::string_view why) {
                return circuits_.set_mode(key, clock_.now(), mode, lasting, why);
              },
          .reload = [this] { return reload(); }};
}

std::string Service::metrics() {
  const double age_s = catalog_loaded_ms_ == 0
                           ? -1
                           : static_cast<double>(wall_clock_ms() - catalog_loaded_ms_) / 1e3;
  return metrics_text({.workers = workers_,
                       .server = *server_,
                       .shared = shared_,
                       .registry = registry_,
                       .redis = redis_,
                       .catalog = catalog_.get(),
                       .catalog_age_s = age_s,
                       .catalog_loads = catalog_loads_,
                       .catalog_unchanged = catalog_unchanged_,
                       .catalog_failures = catalog_failures_,
                       .campaigns_without_account = no_accounts_,
                       .models = model_reload_.counts(),
                       .spend = spend_.get(),
                       .log_dropped = log_.dropped(),
                       .reloads = reloads_,
                       .reloads_refused = reloads_refused_});
}

void Service::on_timer(base::Instant now) {
  circuits_.tick(now);
  (void)shared_.grant.expire(now);
  save_spend(now);
  keep_flights();
  // What this alone has, nobody can take hold of again.
  std::erase_if(pacer_tables_, [](const auto& table) { return table.use_count() == 1; });
  check_self(now);
  if (tls_ != nullptr) {
    tls_->tick(now);
  }
  life_.tell_of(workers_, now);
  go_on_stopping(now);
  control_.timers().arm(*this, now + kTick);
}

}  // namespace spillway::app::bidding
