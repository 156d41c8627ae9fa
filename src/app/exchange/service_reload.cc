// The reloads of a Service.
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include "app/config/config_file.h"
#include "app/config/currency_config.h"
#include "app/config/exchange_config.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"
#include "app/exchange/dsp_tls.h"
#include "app/exchange/service.h"
#include "app/serving/wall_clock.h"
#include "observe/log.h"

namespace spillway::app {
namespace {

// What is bound to threads and sockets that a reload leaves alone.
std::vector<std::string> fixed_keys(const ExchangeConfig& a, const ExchangeConfig& b) {
  std::vector<std::string> keys = fixed_differences(a, b, "exchange");
  if (a.recorder.path != b.recorder.path || a.recorder.queue != b.recorder.queue ||
      a.recorder.sample_ratio != b.recorder.sample_ratio) {
    keys.emplace_back("recorder");
  }
  return keys;
}

}  // namespace

// Everything is judged before anything is touched; what is wrong, a sentence a line.
std::string Service::judge_file(ExchangeConfig& next, TlsOfDsps& tls) {
  const auto text = read_config_file(config_path_);
  if (!text) {
    return text.error() + "\n";
  }
  std::vector<ConfigProblem> problems;
  next = read_exchange_config(*text, problems);
  if (const auto fetched = rates_.text_of(next.rates); problems.empty() && !fetched.empty()) {
    next = read_exchange_config(join_rates({.settings = *text, .rates = fetched}), problems);
  }
  std::string sentences;
  for (const auto& problem : problems) {
    sentences += to_string(problem, config_path_) + "\n";
  }
  if (!problems.empty()) {
    return sentences;
  }
  for (const auto& key : fixed_keys(*config_, next)) {
    sentences +=
        fmt::format("{}: {}: cannot change while running: restart for it\n", config_path_, key);
  }
  auto loaded = load_tls_of_dsps(next.snapshot, tls_of_dsps_);
  if (!loaded) {
    return sentences + loaded.error();
  }
  tls = std::move(*loaded);
  return sentences;
}

// Rates that were fetched become a configuration like the present one, so that auctions, their log
// and its replay have them from one place.
std::string Service::take_rates(const std::string& text) {
  ConfigText parts = part_rates(config_->snapshot.text);
  parts.rates = text;
  std::vector<ConfigProblem> problems;
  ExchangeConfig next = read_exchange_config(join_rates(parts), problems);
  if (!problems.empty()) {
    return to_string(problems.front(), next.rates.url);
  }
  const auto& rates = next.snapshot.rates;
  const int64_t now_ms = wall_clock_ms();
  if (!rates.fresh(now_ms)) {
    return "the rates are stale by their own as_of";
  }
  if (config_->snapshot.rates.fresh(now_ms) &&
      rates.as_of_ms() < config_->snapshot.rates.as_of_ms()) {
    return "the rates are older than those in use";
  }
  deploy(std::make_shared<const ExchangeConfig>(std::move(next)));
  log_.event(observe::Level::kInfo, "event=rates_taken hash={:016x}", config_->snapshot.hash);
  return {};
}

std::string Service::reload() {
  supervisor_.reloading(clock_.now());
  std::string sentences = try_reload();
  supervisor_.ready();
  return sentences;
}

std::string Service::try_reload() {
  ExchangeConfig next;
  TlsOfDsps tls;
  std::string sentences = judge_file(next, tls);
  // Last of all, as it takes effect at once.
  if (sentences.empty() && tls_ != nullptr) {
    if (const auto error = tls_->load(); !error.empty()) {
      sentences = fmt::format("{}: exchange.tls: {}\n", config_path_, error);
    }
  }
  if (!sentences.empty()) {
    ++reloads_refused_;
    log_.event(observe::Level::kError, "event=reload_refused problems={}",
               observe::quoted(sentences));
    return sentences;
  }
  tls_of_dsps_ = std::move(tls);
  deploy(std::make_shared<const ExchangeConfig>(std::move(next)));
  ++reloads_;
  log_.event(observe::Level::kInfo, "event=reloaded dsps={} hash={:016x}",
             config_->snapshot.dsps.size(), config_->snapshot.hash);
  return {};
}

}  // namespace spillway::app
