#include "app/bidder/redis_metrics.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "adapters/redis_client.h"
#include "app/bidder/redis_stores.h"
#include "base/histogram.h"
#include "observe/metrics_page.h"
#include "resilience/hedge.h"

namespace spillway::app::bidding {
namespace {

using observe::MetricsPage;

template <typename Pick>
uint64_t sum(const std::vector<const RedisStores*>& stores, Pick pick) {
  uint64_t total = 0;
  for (const auto* store : stores) {
    total += pick(store->client_counters()).value();
  }
  return total;
}

void write_calls(const std::vector<const RedisStores*>& stores, MetricsPage& page) {
  page.counter("spillway_bidder_redis_calls_total", "Calls that were made.", {},
               sum(stores, [](auto& c) -> auto& { return c.calls; }));
  page.counter("spillway_bidder_redis_answers_total", "Calls that were answered.", {},
               sum(stores, [](auto& c) -> auto& { return c.answered; }));
  for (size_t i = 0; i < adapters::kRedisErrors; ++i) {
    page.counter("spillway_bidder_redis_failures_total",
                 "Calls without an answer, refused ones too, by reason.",
                 {{"reason", to_string(static_cast<adapters::RedisErrc>(i))}},
                 sum(stores, [i](auto& c) -> auto& { return c.failed[i]; }));
  }
  const auto event = [&](std::string_view what, auto pick) {
    page.counter("spillway_bidder_redis_events_total", "What happened on connections to Redis.",
                 {{"event", what}}, sum(stores, pick));
  };
  event("connect", [](auto& c) -> auto& { return c.connects; });
  event("connect_failure", [](auto& c) -> auto& { return c.connect_failures; });
  event("disconnect", [](auto& c) -> auto& { return c.disconnects; });
  event("stall", [](auto& c) -> auto& { return c.stalls; });
  event("read_only", [](auto& c) -> auto& { return c.read_only; });
  event("fail_over", [](auto& c) -> auto& { return c.fail_overs; });
  event("late_reply", [](auto& c) -> auto& { return c.late_replies; });
  page.gauge("spillway_bidder_redis_connections", "Connections to Redis that are ready.", {},
             static_cast<double>(sum(stores, [](auto& c) -> auto& { return c.connections; })));
  auto latency = std::make_unique<base::Histogram>();
  for (const auto* store : stores) {
    latency->merge(store->client_counters().latency);
  }
  page.latency("spillway_bidder_redis_latency_seconds", "Time of calls that were answered.", {},
               *latency);
}

void write_hedges(const std::vector<const RedisStores*>& stores, MetricsPage& page) {
  const auto hedge = [&](std::string_view what, auto pick) {
    page.counter("spillway_bidder_redis_hedges_total", "Second asks of slow reads.",
                 {{"event", what}}, sum(stores, pick));
  };
  hedge("fired", [](auto& c) -> auto& { return c.hedges_fired; });
  hedge("won", [](auto& c) -> auto& { return c.hedges_won; });
  hedge("unsent", [](auto& c) -> auto& { return c.hedges_unsent; });
  for (size_t i = 0; i < resilience::kHedgeBlocks; ++i) {
    page.counter("spillway_bidder_redis_hedges_blocked_total", "Hedges not sent, by gate.",
                 {{"gate", to_string(static_cast<resilience::HedgeBlock>(i))}},
                 sum(stores, [i](auto& c) -> auto& { return c.hedges_blocked[i]; }));
  }
}

void write_wins(const std::vector<const RedisStores*>& stores, MetricsPage& page) {
  const auto total = [&](auto pick) {
    uint64_t count = 0;
    for (const auto* store : stores) {
      count += store->caps_counters() == nullptr ? 0 : pick(*store->caps_counters()).value();
    }
    return count;
  };
  const auto win = [&](std::string_view what, auto pick) {
    page.counter("spillway_bidder_redis_wins_total", "Shown impressions on their way to Redis.",
                 {{"event", what}}, total(pick));
  };
  win("queued", [](auto& c) -> auto& { return c.wins_queued; });
  win("written", [](auto& c) -> auto& { return c.wins_written; });
  win("known", [](auto& c) -> auto& { return c.wins_known; });
  win("retried", [](auto& c) -> auto& { return c.wins_retried; });
  win("refused", [](auto& c) -> auto& { return c.wins_refused; });
  win("given_up", [](auto& c) -> auto& { return c.wins_given_up; });
  page.gauge("spillway_bidder_redis_wins_waiting", "Wins not written yet.", {},
             static_cast<double>(total([](auto& c) -> auto& { return c.wins_waiting; })));
  page.counter("spillway_bidder_redis_unreadable_total",
               "Fields that are no counts, taken as zero: somebody else writes there.", {},
               total([](auto& c) -> auto& { return c.unreadable; }));
}

void write_segments(const std::vector<const RedisStores*>& stores, MetricsPage& page) {
  for (size_t i = 0; i < RedisStores::kSegmentEvents.size(); ++i) {
    uint64_t count = 0;
    for (const auto* store : stores) {
      count += store->segment_events()[i].value();
    }
    page.counter("spillway_bidder_segment_cache_total", "What became of questions for segments.",
                 {{"event", RedisStores::kSegmentEvents[i]}}, count);
  }
}

}  // namespace

void write_redis(const std::vector<const RedisStores*>& stores, MetricsPage& page) {
  if (!stores.empty()) {
    write_calls(stores, page);
    write_hedges(stores, page);
    write_wins(stores, page);
    write_segments(stores, page);
  }
}

}  // namespace spillway::app::bidding
