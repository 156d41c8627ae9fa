#include "app/exchange/metrics.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "app/exchange/load_metrics.h"
#include "app/exchange/metric_sums.h"
#include "app/exchange/notice_metrics.h"
#include "app/exchange/rate_metrics.h"
#include "app/exchange/stats.h"
#include "app/serving/server_metrics.h"
#include "base/histogram.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/bid_watch.h"
#include "exchange/privacy.h"
#include "observe/metrics_page.h"
#include "openrtb/consent/privacy.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::app {
namespace {

using observe::MetricsPage;

void write_auctions(const MetricSources& sources, MetricsPage& page) {
  using exchange::ReplyKind;
  page.counter("spillway_exchange_auctions_total", "Requests that became an auction.", {},
               sum(sources, [](auto& s) -> auto& { return s.auctions; }));
  for (size_t kind = 0; kind < WorkerStats::kReplyKinds; ++kind) {
    page.counter("spillway_exchange_replies_total", "Answers to callers by kind.",
                 {{"kind", to_string(static_cast<ReplyKind>(kind))}},
                 sum(sources, [kind](auto& s) -> auto& { return s.replies[kind]; }));
  }
  page.counter("spillway_exchange_imps_total", "Impressions of auctions that were cleared.", {},
               sum(sources, [](auto& s) -> auto& { return s.imps; }));
  page.counter("spillway_exchange_fills_total", "Impressions won by a DSP's bid.", {},
               sum(sources, [](auto& s) -> auto& { return s.fills; }));
  for (size_t copy = 0; copy < 4; ++copy) {
    page.counter("spillway_exchange_privacy_total",
                 "DSPs of routed auctions by what privacy let them be sent.",
                 {{"copy", to_string(static_cast<exchange::PrivacyClass>(copy))}},
                 sum(sources, [copy](auto& s) -> auto& { return s.privacy[copy]; }));
  }
  constexpr std::string_view kNoBids = "spillway_exchange_no_bids_total";
  constexpr std::string_view kNoBidsHelp = "No-bid answers by their reason.";
  page.counter(kNoBids, kNoBidsHelp, {{"reason", "insufficient_time"}},
               sum(sources, [](auto& s) -> auto& { return s.nbr_time; }));
  page.counter(kNoBids, kNoBidsHelp, {{"reason", "shed"}},
               sum(sources, [](auto& s) -> auto& { return s.nbr_shed; }));
  page.counter(kNoBids, kNoBidsHelp, {{"reason", "invalid_request"}},
               sum(sources, [](auto& s) -> auto& { return s.nbr_invalid; }));
  page.counter(kNoBids, kNoBidsHelp, {{"reason", "no_bid"}},
               sum(sources, [](auto& s) -> auto& { return s.nbr_other; }));
  for (size_t loss = 1; loss < WorkerStats::kLosses; ++loss) {
    const uint64_t count = sum(sources, [loss](auto& s) -> auto& { return s.losses[loss]; });
    if (count > 0) {
      page.counter("spillway_exchange_bids_lost_total", "Losing bids by loss reason code.",
                   {{"loss", fmt::format("{}", loss)}}, count);
    }
  }
}

struct KeyParts {
  std::string_view dsp, region, path;
};

KeyParts parts_of(std::string_view key) {
  const size_t first = key.find('/');
  const size_t second = first == std::string_view::npos ? first : key.find('/', first + 1);
  if (second == std::string_view::npos) {
    return {key, "", ""};
  }
  return {key.substr(0, first), key.substr(first + 1, second - first - 1), key.substr(second + 1)};
}

constexpr std::array<std::string_view, kRefusals> kRefusalNames{
    "circuit_open", "concurrency", "qps", "host_ejected", "deadline_too_short", "shed"};

/// Sums over the workers of one endpoint's counts.
class EndpointTotals {
 public:
  EndpointTotals(const MetricSources& sources, const std::string& key)
      : sources_(sources), key_(key) {}

  template <typename Pick>
  [[nodiscard]] uint64_t operator()(Pick pick) const {
    uint64_t count = 0;
    for (const auto& worker : sources_.stats) {
      const auto found = worker.find(key_);
      count += found == worker.end() ? 0 : pick(*found->second).value();
    }
    return count;
  }

 private:
  const MetricSources& sources_;
  const std::string& key_;
};

void write_endpoint_counts(const MetricSources& sources, const std::string& key,
                           MetricsPage& page) {
  const auto [dsp, region, path] = parts_of(key);
  const EndpointTotals total(sources, key);
  const auto counter = [&](std::string_view name, std::string_view help, auto pick) {
    page.counter(name, help, {{"dsp", dsp}, {"region", region}, {"path", path}}, total(pick));
  };
  counter("spillway_exchange_dsp_asked_total", "Calls made to a DSP.",
          [](auto& s) -> auto& { return s.asked; });
  counter("spillway_exchange_dsp_bids_total", "Bids received.",
          [](auto& s) -> auto& { return s.bids; });
  counter("spillway_exchange_dsp_valid_bids_total", "Bids that met every rule.",
          [](auto& s) -> auto& { return s.bids_valid; });
  counter("spillway_exchange_dsp_answers_bidding_total", "Answers in time with at least one bid.",
          [](auto& s) -> auto& { return s.answers_bidding; });
  counter("spillway_exchange_dsp_answers_useless_total",
          "Answers with bids of which none met every rule.",
          [](auto& s) -> auto& { return s.answers_useless; });
  counter("spillway_exchange_dsp_wins_total", "Bids that won.",
          [](auto& s) -> auto& { return s.wins; });
  counter("spillway_exchange_late_dsp_answers_total",
          "Answers read whole after the auction had stopped waiting.",
          [](auto& s) -> auto& { return s.late_answers; });
}

void write_endpoint_reasons(const MetricSources& sources, const std::string& key,
                            MetricsPage& page) {
  const auto [dsp, region, path] = parts_of(key);
  const EndpointTotals total(sources, key);
  for (size_t i = 0; i < resilience::kOutcomes; ++i) {
    page.counter("spillway_exchange_dsp_outcomes_total", "Calls by their one outcome.",
                 {{"dsp", dsp},
                  {"region", region},
                  {"path", path},
                  {"outcome", to_string(static_cast<resilience::Outcome>(i))}},
                 total([i](auto& s) -> auto& { return s.outcomes[i]; }));
  }
  for (size_t i = 0; i < kRefusals; ++i) {
    page.counter("spillway_exchange_dsp_refused_total", "Candidates not asked, by reason.",
                 {{"dsp", dsp}, {"region", region}, {"path", path}, {"reason", kRefusalNames[i]}},
                 total([i](auto& s) -> auto& { return s.refused[i]; }));
  }
  for (size_t i = 0; i < kClientCounters.size(); ++i) {
    page.counter("spillway_exchange_client_events_total", "What happened on connections to a DSP.",
                 {{"dsp", dsp}, {"region", region}, {"path", path}, {"event", kClientCounters[i]}},
                 total([i](auto& s) -> auto& { return s.client[i]; }));
  }
  for (size_t i = 0; i < kClientGauges.size(); ++i) {
    page.gauge("spillway_exchange_client_connections", "Connections to a DSP by what they do.",
               {{"dsp", dsp}, {"region", region}, {"path", path}, {"state", kClientGauges[i]}},
               static_cast<double>(total([i](auto& s) -> auto& { return s.client_now[i]; })));
  }
}

void write_endpoint_times(const MetricSources& sources, const std::string& key, MetricsPage& page) {
  const auto [dsp, region, path] = parts_of(key);
  uint64_t cost_us = 0;
  for (const auto& worker : sources.stats) {
    const auto found = worker.find(key);
    cost_us = std::max(cost_us, found == worker.end() ? 0 : found->second->network_cost_us.value());
  }
  page.gauge("spillway_exchange_dsp_network_cost_seconds",
             "Round trip taken off the tmax announced to a DSP; the largest of the workers'.",
             {{"dsp", dsp}, {"region", region}, {"path", path}},
             static_cast<double>(cost_us) * 1e-6);
  auto latency = std::make_unique<base::Histogram>();
  for (const auto& worker : sources.stats) {
    const auto found = worker.find(key);
    if (found != worker.end()) {
      latency->merge(found->second->latency);
    }
  }
  page.latency("spillway_exchange_dsp_latency_seconds",
               "Time of whole answers, late ones with their true time.",
               {{"dsp", dsp}, {"region", region}, {"path", path}}, *latency);
}

void write_endpoint(const MetricSources& sources, const std::string& key, MetricsPage& page) {
  write_endpoint_counts(sources, key, page);
  write_endpoint_reasons(sources, key, page);
  write_endpoint_times(sources, key, page);
}

void write_bid_alerts(const MetricSources& sources, const std::string& key, MetricsPage& page) {
  const auto* watch = sources.bid_alerts.find(key);
  if (watch == nullptr) {
    return;
  }
  const auto [dsp, region, path] = parts_of(key);
  for (size_t i = 0; i < exchange::kBidAlerts; ++i) {
    const auto alert = static_cast<exchange::BidAlert>(i);
    const observe::Labels labels{
        {"dsp", dsp}, {"region", region}, {"path", path}, {"kind", to_string(alert)}};
    page.gauge("spillway_exchange_dsp_alert", "1 while something is wrong with a DSP's bids.",
               labels, watch->raised(alert) ? 1 : 0);
    page.counter("spillway_exchange_dsp_alerts_total", "Alerts raised on a DSP's bids.", labels,
                 watch->times_raised(alert));
  }
  page.gauge("spillway_exchange_dsp_useless_ratio",
             "Share of the answers with bids that held no valid one, of late.",
             {{"dsp", dsp}, {"region", region}, {"path", path}}, watch->useless_ratio());
  page.gauge("spillway_exchange_dsp_bid_ratio", "Share of the answers that held a bid, of late.",
             {{"dsp", dsp}, {"region", region}, {"path", path}}, watch->bid_ratio());
}

void write_hosts(const MetricSources& sources, const std::string& key, MetricsPage& page) {
  const auto* endpoint = sources.hosts.find(key);
  if (endpoint == nullptr) {
    return;
  }
  const auto [dsp, region, path] = parts_of(key);
  const auto peek = endpoint->hosts.peek();
  const auto& totals = endpoint->hosts.totals();
  page.gauge("spillway_exchange_dsp_hosts", "Addresses of a DSP that some worker knows.",
             {{"dsp", dsp}, {"region", region}, {"path", path}}, peek.hosts);
  page.gauge("spillway_exchange_dsp_hosts_ejected", "Of those the ones left out for a while.",
             {{"dsp", dsp}, {"region", region}, {"path", path}}, peek.ejected);
  page.gauge("spillway_exchange_dsp_hosts_panic", "1 while so few are usable that all are used.",
             {{"dsp", dsp}, {"region", region}, {"path", path}}, peek.panic ? 1 : 0);
  const auto ejected = [&](std::string_view rule, const base::Counter& count) {
    page.counter("spillway_exchange_dsp_host_ejections_total", "Hosts ejected, by rule.",
                 {{"dsp", dsp}, {"region", region}, {"path", path}, {"rule", rule}}, count.value());
  };
  ejected("consecutive_local", totals.ejected_local);
  ejected("consecutive_5xx", totals.ejected_server_errors);
  ejected("success_rate", totals.ejected_success_rate);
  ejected("latency", totals.ejected_latency);
  const auto event = [&](std::string_view what, const base::Counter& count) {
    page.counter(
        "spillway_exchange_dsp_host_events_total", "What else happened to the hosts of a DSP.",
        {{"dsp", dsp}, {"region", region}, {"path", path}, {"event", what}}, count.value());
  };
  event("kept", totals.kept);
  event("returned", totals.returned);
  event("panic", totals.panics);
  event("panic_call", totals.panic_picks);
  event("left_out", totals.left_out);
}

void write_guards(const MetricSources& sources, MetricsPage& page) {
  using resilience::Mode;
  using resilience::State;
  for (const auto& guard : sources.registry.guards()) {
    const auto [dsp, region, path] = parts_of(guard->key());
    const auto peek = guard->peek();
    for (const State state : {State::kClosed, State::kOpen, State::kHalfOpen, State::kRamping}) {
      page.gauge("spillway_exchange_circuit_state", "1 for the state a circuit is in.",
                 {{"dsp", dsp}, {"region", region}, {"path", path}, {"state", to_string(state)}},
                 peek.state == state ? 1 : 0);
    }
    for (const Mode mode : {Mode::kEnforce, Mode::kShadow, Mode::kDisabled, Mode::kForcedOpen}) {
      page.gauge("spillway_exchange_circuit_mode", "1 for the mode a circuit is in.",
                 {{"dsp", dsp}, {"region", region}, {"path", path}, {"mode", to_string(mode)}},
                 peek.mode == mode ? 1 : 0);
    }
    page.gauge("spillway_exchange_circuit_admit_ratio", "Share of calls a circuit admits.",
               {{"dsp", dsp}, {"region", region}, {"path", path}}, peek.admit_ratio);
    page.gauge("spillway_exchange_dsp_in_flight_calls", "Calls and late answers of a DSP.",
               {{"dsp", dsp}, {"region", region}, {"path", path}},
               static_cast<double>(peek.in_flight));
    page.gauge("spillway_exchange_dsp_concurrency_limit",
               "Most calls of a DSP in flight at once, as the limiter has it; 0: no limit.",
               {{"dsp", dsp}, {"region", region}, {"path", path}}, peek.limit);
    const bool judged = peek.limit_judged != base::Instant{};
    page.gauge("spillway_exchange_dsp_limit_age_seconds",
               "Time since the limiter of a DSP last judged; 0: never, or there is none.",
               {{"dsp", dsp}, {"region", region}, {"path", path}},
               judged ? base::to_ms(sources.now - peek.limit_judged) / 1e3 : 0);
  }
}

void write_process(const MetricSources& sources, MetricsPage& page) {
  page.counter("spillway_exchange_recorder_written_total", "Auctions written to the log.", {},
               sources.recorder.written());
  page.counter("spillway_exchange_recorder_dropped_total",
               "Sampled auctions that found the recorder's queue full.", {},
               sources.recorder.dropped());
  page.counter("spillway_exchange_recorder_lost_total", "Sampled auctions of failed writes.", {},
               sources.recorder.lost());
  page.counter("spillway_exchange_recorder_write_errors_total", "Failed writes of the log.", {},
               sources.recorder.write_errors());
  page.counter("spillway_exchange_log_dropped_total", "Log events dropped at a full queue.", {},
               sources.log_dropped);
  page.counter("spillway_exchange_reloads_total", "Reloads by result.", {{"result", "done"}},
               sources.reloads);
  page.counter("spillway_exchange_reloads_total", "Reloads by result.", {{"result", "refused"}},
               sources.reloads_refused);
}

}  // namespace

std::string metrics_text(const MetricSources& sources) {
  MetricsPage page;
  write_auctions(sources, page);
  write_load(sources, page);
  write_server(sources.server, "spillway_exchange", page);
  page.counter("spillway_exchange_tls_ticket_rotations_total",
               "Times that the keys of resumption tickets were rotated.", {},
               sources.ticket_rotations);
  if (!sources.stats.empty()) {
    for (const auto& [key, stats] : sources.stats.front()) {
      write_endpoint(sources, key, page);
      write_bid_alerts(sources, key, page);
      write_hosts(sources, key, page);
    }
  }
  write_guards(sources, page);
  std::array<uint64_t, 3> events_refused{};
  for (size_t i = 0; i < events_refused.size(); ++i) {
    events_refused[i] = sum(sources, [i](auto& s) -> auto& { return s.events_refused[i]; });
  }
  write_notices(sources.notices, events_refused, page);
  write_rates(sources.rates, sources.rates_age_s, page);
  write_process(sources, page);
  return page.text();
}

}  // namespace spillway::app
