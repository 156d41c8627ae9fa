#include "app/exchange/notice_metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "app/exchange/event_forwarder.h"
#include "app/exchange/notice_desk.h"
#include "exchange/notice_orders.h"
#include "exchange/notice_table.h"
#include "exchange/notices.h"
#include "observe/metrics_page.h"
#include "openrtb/signed_url.h"

namespace spillway::app {
namespace {

using observe::MetricsPage;

void write_outcomes(const exchange::NoticeCounts& counts, MetricsPage& page) {
  for (size_t i = 0; i < exchange::kNoticeKinds; ++i) {
    const auto kind = to_string(static_cast<exchange::NoticeKind>(i));
    page.counter("spillway_exchange_notices_taken_total", "Notices that took a place in the queue.",
                 {{"kind", kind}}, counts.taken[i]);
    page.counter("spillway_exchange_notices_sent_total", "Notices answered 2xx.", {{"kind", kind}},
                 counts.sent[i]);
    page.counter("spillway_exchange_notices_failed_total",
                 "Notices given up after an attempt that may not be repeated.", {{"kind", kind}},
                 counts.failed[i]);
    page.counter("spillway_exchange_notices_expired_total",
                 "Notices given up when their time was over.", {{"kind", kind}}, counts.expired[i]);
    page.counter("spillway_exchange_notices_retried_total", "Failed attempts that were repeated.",
                 {{"kind", kind}}, counts.retried[i]);
    for (size_t why = 0; why < exchange::kNoticeDrops; ++why) {
      page.counter("spillway_exchange_notices_dropped_total", "Notices not taken on, by reason.",
                   {{"kind", kind}, {"reason", to_string(static_cast<exchange::NoticeDrop>(why))}},
                   counts.dropped[why][i]);
    }
  }
}

void write_events(const exchange::NoticeCounts& counts,
                  const std::array<uint64_t, 3>& events_refused, MetricsPage& page) {
  constexpr std::string_view kEvents = "spillway_exchange_events_total";
  constexpr std::string_view kHelp = "Events callers reported, by what they came to.";
  for (size_t i = 0; i < exchange::kEventEnds; ++i) {
    page.counter(kEvents, kHelp, {{"end", to_string(static_cast<exchange::EventEnd>(i))}},
                 counts.events[i]);
  }
  for (size_t i = 0; i < events_refused.size(); ++i) {
    page.counter(kEvents, kHelp, {{"end", to_string(static_cast<openrtb::EventErrc>(i))}},
                 events_refused[i]);
  }
}

}  // namespace

void write_notices(const NoticeDesk& desk, const std::array<uint64_t, 3>& events_refused,
                   MetricsPage& page) {
  const exchange::Notices& notices = desk.notices();
  write_outcomes(notices.counts(), page);
  write_events(notices.counts(), events_refused, page);
  page.counter("spillway_exchange_notice_messages_dropped_total",
               "Auctions' notices and events dropped on their way to the control thread.", {},
               desk.dropped());
  const ForwardCounts& forwarded = desk.forwarder().counts();
  const std::pair<std::string_view, uint64_t> ends[] = {
      {"sent", forwarded.sent}, {"failed", forwarded.failed}, {"dropped", forwarded.dropped}};
  for (const auto& [end, count] : ends) {
    page.counter("spillway_exchange_events_forwarded_total",
                 "Events of other instances, by what forwarding came to.", {{"end", end}}, count);
  }
  page.counter("spillway_exchange_event_forward_calls_total",
               "Attempts to forward an event to its instance.", {}, forwarded.calls);
  page.counter("spillway_exchange_event_forwards_held_total",
               "Times that an instance's guard let nothing through while events waited.", {},
               forwarded.held);
  page.gauge("spillway_exchange_event_instances", "Instances that events are forwarded to.",
             {{"state", "known"}}, static_cast<double>(desk.forwarder().peers()));
  page.gauge("spillway_exchange_event_instances", "Instances that events are forwarded to.",
             {{"state", "not_closed"}}, static_cast<double>(desk.forwarder().peers_open()));
  page.gauge("spillway_exchange_notices_pending", "Notices not settled.", {},
             static_cast<double>(notices.pending()));
  page.gauge("spillway_exchange_notice_hosts", "Notice hosts known.", {{"state", "known"}},
             static_cast<double>(notices.hosts()));
  page.gauge("spillway_exchange_notice_hosts", "Notice hosts known.", {{"state", "not_closed"}},
             static_cast<double>(notices.hosts_open()));
  page.gauge("spillway_exchange_event_bids", "Won bids remembered for their events.", {},
             static_cast<double>(notices.table().size()));
  page.gauge("spillway_exchange_event_table_bytes", "Memory of those.", {},
             static_cast<double>(notices.table().bytes()));
  constexpr std::string_view kForgotten = "spillway_exchange_event_bids_forgotten_total";
  constexpr std::string_view kHelp = "Won bids forgotten with a notice still waiting.";
  page.counter(kForgotten, kHelp, {{"reason", "expired"}}, notices.table().expired());
  page.counter(kForgotten, kHelp, {{"reason", "table_full"}}, notices.table().evicted());
}

}  // namespace spillway::app
