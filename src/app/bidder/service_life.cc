// The reloads of a Service, and its end.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <signal.h>

#include "app/bidder/bidder_config.h"
#include "app/bidder/service.h"
#include "app/bidder/spend_file.h"
#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "app/serving/server_metrics.h"
#include "base/time.h"
#include "observe/log.h"

namespace spillway::app::bidding {

void Service::on_signal(int number) {
  if (number == SIGHUP) {
    (void)reload();
  } else if (!closing_.begun()) {
    begin_stop();
  } else {
    control_.stop();
  }
}

std::string Service::reload() {
  supervisor_.reloading(clock_.now());
  std::string sentences = try_reload();
  if (sentences.empty()) {
    ++reloads_;
    log_.event(observe::Level::kInfo, "event=reloaded");
  } else {
    ++reloads_refused_;
    log_.event(observe::Level::kError, "event=reload_refused problems={}",
               observe::quoted(sentences));
  }
  supervisor_.ready();
  return sentences;
}

// Everything is judged before anything is touched; what is wrong, a sentence a line.
std::string Service::try_reload() {
  if (parts_.config_path.empty()) {
    return "there is no configuration file to read again";
  }
  const auto text = read_config_file(parts_.config_path);
  if (!text) {
    return text.error() + "\n";
  }
  std::vector<ConfigProblem> problems;
  auto next = std::make_shared<BidderConfig>(read_bidder_config(*text, problems));
  std::string sentences;
  for (const auto& problem : problems) {
    sentences += to_string(problem, parts_.config_path) + "\n";
  }
  if (!problems.empty()) {
    return sentences;
  }
  for (const auto& key : fixed_keys(*config_, *next)) {
    sentences += fmt::format("{}: {}: cannot change while running: restart for it\n",
                             parts_.config_path, key);
  }
  if (sentences.empty()) {
    sentences = load_models(*next);
  }
  if (sentences.empty() && tls_ != nullptr) {
    if (const auto error = tls_->load(); !error.empty()) {
      sentences = fmt::format("{}: bidder.tls: {}\n", parts_.config_path, error);
    }
  }
  if (!sentences.empty()) {
    return sentences;
  }
  config_ = std::move(next);
  shared_.events.reopen();
  deploy();
  if (loader_ != nullptr) {
    loader_->refresh(config_->rates);
  }
  return {};
}

void Service::begin_stop() {
  closing_.begin(*server_, log_, supervisor_, clock_.now(), config_->drain_announce,
                 config_->stop_timeout);
  go_on_stopping(clock_.now());
}

void Service::go_on_stopping(base::Instant now) {
  closing_.tick(*server_, log_, now);
  if (closing_.listener_closed() && (is_over() || closing_.is_over(now))) {
    control_.stop();
  }
}

bool Service::is_over() const {
  return server_->drained() && waiting_wins() == 0 &&
         std::ranges::all_of(
             workers_, [](const auto& worker) { return worker->stats().in_flight.value() == 0; });
}

size_t Service::waiting_wins() const {
  size_t wins = 0;
  for (const auto& worker : workers_) {
    wins += worker->stores() == nullptr ? 0 : worker->stores()->waiting();
  }
  return wins;
}

std::string Service::open_spend() {
  if (config_->spend.file.empty()) {
    return {};
  }
  const auto tell = [this, file = config_->spend.file](int error) {
    if (error == 0) {
      log_.event(observe::Level::kInfo, "event=spend_written_again file={}", observe::quoted(file));
    } else {
      log_.event(observe::Level::kError, "event=spend_not_written file={} reason={}",
                 observe::quoted(file), observe::quoted(std::generic_category().message(error)));
    }
  };
  spend_ = std::make_unique<SpendFile>(config_->spend.file, tell);
  auto before = spend_->read();
  if (!before) {
    return fmt::format("spend.file: {}", before.error());
  }
  spent_before_ = std::move(*before);
  return {};
}

// Once, when the campaigns are known.
void Service::restore_spend() {
  if (spend_ == nullptr || spend_restored_) {
    return;
  }
  spend_restored_ = true;
  shared_.grant.restore(spent_before_);
  log_.event(observe::Level::kInfo, "event=spend_restored rows={}", spent_before_.size());
  spent_before_ = {};
}

// Never before what was spent is known: it would be forgotten.
void Service::save_spend(base::Instant now) {
  if (spend_restored_ && now >= save_spend_at_) {
    save_spend_at_ = now + config_->spend.every;
    spend_->write(shared_.grant.spent());
  }
}

// Called when the workers have ended: nothing moves any more. What is left is cut off with us.
void Service::end_stop() {
  if (spend_restored_) {
    spend_->write(shared_.grant.spent());
    spend_.reset();
  }
  uint64_t in_flight = 0;
  for (const auto& worker : workers_) {
    in_flight += worker->stats().in_flight.value();
  }
  const size_t wins = waiting_wins();
  const uint64_t requests = sum_of(*server_, [](auto& c) -> auto& { return c.requests; });
  const uint64_t answers = sum_of(*server_, [](auto& c) -> auto& { return c.answers; });
  clean_ = in_flight == 0;
  log_.event(clean_ && wins == 0 ? observe::Level::kInfo : observe::Level::kWarn,
             "event=stopped clean={} requests={} answers={} cut_connections={} cut_requests={} "
             "wins_not_written={}",
             clean_, requests, answers, server_->open_connections(), in_flight, wins);
}

}  // namespace spillway::app::bidding
