#include "app/bidder/metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "app/bidder/redis_metrics.h"
#include "app/bidder/stats.h"
#include "app/serving/server_metrics.h"
#include "base/histogram.h"
#include "bidder/catalog.h"
#include "bidder/creative_fit.h"
#include "bidder/notice.h"
#include "bidder/pacing/grant.h"
#include "bidder/scoring/ab_split.h"
#include "bidder/stages.h"
#include "observe/metrics_page.h"
#include "openrtb/consent/privacy.h"
#include "resilience/guard.h"
#include "resilience/shedder.h"

namespace spillway::app::bidding {
namespace {

using observe::MetricsPage;

template <typename Pick>
uint64_t sum(const MetricSources& sources, Pick pick) {
  uint64_t total = 0;
  for (const auto& worker : sources.workers) {
    total += pick(worker->stats()).value();
  }
  return total;
}

template <typename Pick>
std::unique_ptr<base::Histogram> merged(const MetricSources& sources, Pick pick) {
  auto all = std::make_unique<base::Histogram>();
  for (const auto& worker : sources.workers) {
    all->merge(pick(worker->stats()));
  }
  return all;
}

void write_requests(const MetricSources& sources, MetricsPage& page) {
  const auto count = [&](std::string_view name, std::string_view help, auto pick) {
    page.counter(name, help, {}, sum(sources, pick));
  };
  count("spillway_bidder_requests_total", "Bid requests begun.",
        [](auto& s) -> auto& { return s.pipeline.requests; });
  count("spillway_bidder_answers_total", "Answers with at least one bid.",
        [](auto& s) -> auto& { return s.pipeline.answers; });
  count("spillway_bidder_bids_total", "Bids in answers.",
        [](auto& s) -> auto& { return s.pipeline.bids; });
  count("spillway_bidder_imps_total", "Impressions of valid requests.",
        [](auto& s) -> auto& { return s.pipeline.imps; });
  count("spillway_bidder_candidates_total", "Line items retrieved with a creative that fits.",
        [](auto& s) -> auto& { return s.pipeline.candidates; });
  count("spillway_bidder_rounds_total", "Retrievals again, because none of an imp's was left.",
        [](auto& s) -> auto& { return s.pipeline.rounds; });
  for (size_t i = 0; i < bidder::kArms; ++i) {
    page.counter("spillway_bidder_arm_answers_total", "Answers with a bid, by arm.",
                 {{"arm", to_string(static_cast<bidder::Arm>(i))}},
                 sum(sources, [i](auto& s) -> auto& { return s.arms[i]; }));
  }
  for (size_t i = 1; i < bidder::kNoBidReasons; ++i) {
    page.counter("spillway_bidder_no_bids_total", "Requests without a bid, by reason.",
                 {{"reason", to_string(static_cast<bidder::NoBidReason>(i))}},
                 sum(sources, [i](auto& s) -> auto& { return s.pipeline.no_bids[i]; }));
  }
  count("spillway_bidder_not_found_total", "Requests for another path.",
        [](auto& s) -> auto& { return s.not_found; });
  count("spillway_bidder_wrong_method_total", "Requests by another method.",
        [](auto& s) -> auto& { return s.wrong_method; });
  count("spillway_bidder_unknown_exchange_total", "Requests that name an exchange that is none.",
        [](auto& s) -> auto& { return s.unknown_exchange; });
  count("spillway_bidder_callers_gone_total", "Callers that left before their answer.",
        [](auto& s) -> auto& { return s.callers_gone; });
  page.gauge("spillway_bidder_in_flight_requests", "Requests not answered yet.", {},
             static_cast<double>(sum(sources, [](auto& s) -> auto& { return s.in_flight; })));
  page.latency("spillway_bidder_queue_age_seconds",
               "Time a request waited to be read, pauses of reads not counted.", {},
               *merged(sources, [](auto& s) -> auto& { return s.queue_age; }));
  page.latency("spillway_bidder_answer_time_seconds", "Time from time zero to the answer.", {},
               *merged(sources, [](auto& s) -> auto& { return s.answer_time; }));
  page.counter("spillway_bidder_deadline_misses_total",
               "Answers whose last byte left after time zero plus tmax.", {},
               sum_of(sources.server, [](auto& c) -> auto& { return c.deadline_misses; }));
}

void write_stages(const MetricSources& sources, MetricsPage& page) {
  for (size_t i = 0; i < bidder::kStages; ++i) {
    const auto stage = to_string(static_cast<bidder::Stage>(i));
    page.latency("spillway_bidder_stage_seconds", "Time of each stage, waiting included.",
                 {{"stage", stage}},
                 *merged(sources, [i](auto& s) -> auto& { return s.pipeline.times[i]; }));
    page.counter("spillway_bidder_stage_over_budget_total", "Stages that took longer than allowed.",
                 {{"stage", stage}},
                 sum(sources, [i](auto& s) -> auto& { return s.pipeline.over_budget[i]; }));
    page.counter("spillway_bidder_stage_late_total", "Requests out of time before a stage.",
                 {{"stage", stage}},
                 sum(sources, [i](auto& s) -> auto& { return s.pipeline.late[i]; }));
  }
  for (size_t i = 1; i < bidder::kDrops; ++i) {
    const auto drop = static_cast<bidder::DropReason>(i);
    page.counter("spillway_bidder_dropped_total", "Candidates dropped, by stage and reason.",
                 {{"stage", to_string(bidder::stage_of(drop))}, {"reason", to_string(drop)}},
                 sum(sources, [i](auto& s) -> auto& { return s.pipeline.drops[i]; }));
  }
  for (size_t i = 1; i < bidder::kMisfits; ++i) {
    page.counter("spillway_bidder_unfit_total",
                 "Line items that matched without a creative that fits, by reason.",
                 {{"reason", to_string(static_cast<bidder::Misfit>(i))}},
                 sum(sources, [i](auto& s) -> auto& { return s.pipeline.misfits[i]; }));
  }
}

void write_users(const MetricSources& sources, MetricsPage& page) {
  constexpr std::array<std::string_view, 4> kStates{"unknown_user", "known", "none",
                                                    "could_not_ask"};
  for (size_t i = 0; i < kStates.size(); ++i) {
    page.counter("spillway_bidder_segments_total", "Requests by what is known of their segments.",
                 {{"state", kStates.at(i)}},
                 sum(sources, [i](auto& s) -> auto& { return s.pipeline.segments[i]; }));
  }
  for (size_t i = 0; i < 2; ++i) {
    page.counter("spillway_bidder_caps_skipped_total",
                 "Bids of campaigns with caps that went out uncapped.",
                 {{"reason", i == 0 ? "unread" : "no_user"}},
                 sum(sources, [i](auto& s) -> auto& { return s.pipeline.caps_skipped[i]; }));
  }
  page.counter("spillway_bidder_caps_asked_total", "Requests that read counts of caps.", {},
               sum(sources, [](auto& s) -> auto& { return s.pipeline.caps_asked; }));
  page.counter("spillway_bidder_caps_unread_total", "Of those the ones without an answer.", {},
               sum(sources, [](auto& s) -> auto& { return s.pipeline.caps_unread; }));
  for (size_t i = 0; i < static_cast<size_t>(openrtb::consent::PrivacyReason::kCount); ++i) {
    page.counter("spillway_bidder_privacy_total", "Requests with a reason to withhold ids.",
                 {{"reason", to_string(static_cast<openrtb::consent::PrivacyReason>(i))}},
                 sum(sources, [i](auto& s) -> auto& { return s.pipeline.privacy[i]; }));
  }
  page.counter("spillway_bidder_ids_withheld_total", "Requests whose ids were not used.", {},
               sum(sources, [](auto& s) -> auto& { return s.pipeline.ids_withheld; }));
}

void write_caps(const MetricSources& sources, MetricsPage& page) {
  const auto caps = sources.shared.caps.counters();
  const auto count = [&](std::string_view event, uint64_t value) {
    page.counter("spillway_bidder_cap_places_total", "Places under caps, by what became of them.",
                 {{"event", event}}, value);
  };
  count("reserved", caps.reserved);
  count("capped", caps.capped);
  count("full", caps.full);
  count("won", caps.won);
  count("won_late", caps.won_late);
  count("released", caps.released);
  count("expired", caps.expired);
  count("evicted", caps.evicted);
  page.gauge("spillway_bidder_cap_counters", "Counters of caps held in memory.", {},
             static_cast<double>(caps.counters));
  if (sources.shared.cap_cache) {
    const auto cache = sources.shared.cap_cache->counters();
    const auto event = [&](std::string_view what, uint64_t value) {
      page.counter("spillway_bidder_cap_cache_total", "Counts asked of the cache of counts.",
                   {{"event", what}}, value);
    };
    event("warm_hit", cache.warm_hits);
    event("cold_miss", cache.cold_misses);
    event("populated", cache.populated);
    event("evicted", cache.evicted);
    event("rejected", cache.rejected);
  }
}

void write_money(const MetricSources& sources, MetricsPage& page) {
  const auto counts = sources.shared.grant.counts();
  for (size_t i = 0; i < bidder::kReserveErrcs; ++i) {
    page.counter("spillway_bidder_budget_refused_total", "Reservations refused, by reason.",
                 {{"reason", to_string(static_cast<bidder::ReserveErrc>(i))}}, counts.refused[i]);
  }
  const auto event = [&](std::string_view what, uint64_t value) {
    page.counter("spillway_bidder_budget_reservations_total",
                 "Reservations by what became of them.", {{"event", what}}, value);
  };
  event("reserved", counts.reserved);
  event("cancelled", counts.cancelled);
  event("expired", counts.expired);
  page.gauge("spillway_bidder_budget_accounts", "Campaigns with an account.", {},
             static_cast<double>(counts.accounts));
  page.gauge("spillway_bidder_budget_open_bids", "Bids that wait for a notice.", {},
             static_cast<double>(counts.open_bids));
  page.gauge("spillway_bidder_campaigns_without_account",
             "Campaigns of the catalog that found no room for an account: they do not bid.", {},
             static_cast<double>(sources.campaigns_without_account));
}

void write_notices(const MetricSources& sources, MetricsPage& page) {
  for (size_t kind = 0; kind < bidder::kNoticeKinds; ++kind) {
    for (size_t end = 0; end < kNoticeEnds; ++end) {
      page.counter("spillway_bidder_notices_total", "Notices by kind and by what became of them.",
                   {{"kind", to_string(static_cast<bidder::NoticeKind>(kind))},
                    {"end", to_string(static_cast<NoticeEnd>(end))}},
                   sum(sources, [=](auto& s) -> auto& { return s.notices[kind][end]; }));
    }
  }
  for (size_t i = 0; i < kPriceDoubts; ++i) {
    page.counter("spillway_bidder_notice_price_doubts_total",
                 "Wins whose price was not taken as it stood.",
                 {{"doubt", to_string(static_cast<PriceDoubt>(i))}},
                 sum(sources, [i](auto& s) -> auto& { return s.price_doubts[i]; }));
  }
}

void write_events(const MetricSources& sources, MetricsPage& page) {
  for (size_t arm = 0; arm < bidder::kArms; ++arm) {
    for (size_t kind = 0; kind < bidder::kNoticeKinds; ++kind) {
      page.counter("spillway_bidder_arm_notices_total", "Notices that had an effect, by arm.",
                   {{"arm", to_string(static_cast<bidder::Arm>(arm))},
                    {"kind", to_string(static_cast<bidder::NoticeKind>(kind))}},
                   sum(sources, [=](auto& s) -> auto& { return s.arm_notices[arm][kind]; }));
    }
  }
  const auto event = [&](std::string_view end, uint64_t count) {
    page.counter("spillway_bidder_events_total", "Events for the event file, by their end.",
                 {{"end", end}}, count);
  };
  event("written", sources.shared.events.written());
  event("dropped", sources.shared.events.dropped());
  event("lost", sources.shared.events.lost());
  const auto save = [&](std::string_view end, uint64_t count) {
    page.counter("spillway_bidder_spend_writes_total", "Writings of the spend file, by their end.",
                 {{"end", end}}, count);
  };
  save("written", sources.spend == nullptr ? 0 : sources.spend->written());
  save("failed", sources.spend == nullptr ? 0 : sources.spend->failures());
}

void write_shed(const MetricSources& sources, MetricsPage& page) {
  for (size_t level = 0; level < 2; ++level) {
    for (size_t reason = 1; reason <= WorkerStats::kShedForMemory; ++reason) {
      page.counter("spillway_bidder_shed_total", "Requests shed, by level and reason.",
                   {{"level", level == 0 ? "1" : "2"},
                    {"reason", reason == WorkerStats::kShedForMemory
                                   ? "memory"
                                   : to_string(static_cast<resilience::ShedReason>(reason))}},
                   sum(sources, [=](auto& s) -> auto& { return s.shed[level][reason]; }));
    }
  }
}

void write_catalog(const MetricSources& sources, MetricsPage& page) {
  page.gauge("spillway_bidder_catalog_age_seconds",
             "Time since the catalog in use was last known to be the store's; -1: there is none.",
             {}, sources.catalog_age_s);
  const auto load = [&](std::string_view end, uint64_t count) {
    page.counter("spillway_bidder_catalog_loads_total", "Readings of the catalog, by their end.",
                 {{"end", end}}, count);
  };
  load("taken", sources.catalog_loads);
  load("unchanged", sources.catalog_unchanged);
  load("failed", sources.catalog_failures);
  size_t items = 0;
  std::array<size_t, bidder::kRowKinds> broken{};
  if (sources.catalog != nullptr) {
    items = sources.catalog->catalog.items().size();
    broken = sources.catalog->catalog.left_out().broken;
  }
  page.gauge("spillway_bidder_catalog_line_items", "Line items that may serve.", {},
             static_cast<double>(items));
  for (size_t i = 0; i < broken.size(); ++i) {
    page.gauge("spillway_bidder_catalog_broken_rows", "Rows left out for a problem.",
               {{"kind", to_string(static_cast<bidder::RowKind>(i))}},
               static_cast<double>(broken[i]));
  }
  const auto models = [&](std::string_view end, uint64_t count) {
    page.counter("spillway_bidder_model_loads_total", "Loads of the models, by their end.",
                 {{"end", end}}, count);
  };
  models("taken", sources.models.taken);
  models("unchanged", sources.models.same);
  uint64_t refused = 0;
  for (const uint64_t count : sources.models.refused) {
    refused += count;
  }
  models("refused", refused);
}

void write_circuits(const MetricSources& sources, MetricsPage& page) {
  using resilience::State;
  for (const auto& guard : sources.registry.guards()) {
    const auto peek = guard->peek();
    for (const State state : {State::kClosed, State::kOpen, State::kHalfOpen, State::kRamping}) {
      page.gauge("spillway_bidder_circuit_state", "1 for the state a circuit is in.",
                 {{"dependency", guard->key()}, {"state", to_string(state)}},
                 peek.state == state ? 1 : 0);
    }
  }
}

void write_process(const MetricSources& sources, MetricsPage& page) {
  page.counter("spillway_bidder_log_dropped_total", "Log events dropped at a full queue.", {},
               sources.log_dropped);
  page.counter("spillway_bidder_reloads_total", "Reloads by result.", {{"result", "done"}},
               sources.reloads);
  page.counter("spillway_bidder_reloads_total", "Reloads by result.", {{"result", "refused"}},
               sources.reloads_refused);
}

}  // namespace

std::string metrics_text(const MetricSources& sources) {
  MetricsPage page;
  write_requests(sources, page);
  write_stages(sources, page);
  write_users(sources, page);
  write_caps(sources, page);
  write_money(sources, page);
  write_notices(sources, page);
  write_events(sources, page);
  write_shed(sources, page);
  write_catalog(sources, page);
  write_circuits(sources, page);
  write_redis(sources.redis, page);
  write_server(sources.server, "spillway_bidder", page);
  write_process(sources, page);
  return page.text();
}

}  // namespace spillway::app::bidding
