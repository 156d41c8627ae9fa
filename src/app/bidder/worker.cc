#include "app/bidder/worker.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "app/bidder/answers.h"
#include "app/bidder/bidder_config.h"
#include "app/bidder/deployment.h"
#include "app/bidder/event_log.h"
#include "app/bidder/flight.h"
#include "app/bidder/stats.h"
#include "app/serving/wall_clock.h"
#include "base/hash.h"
#include "base/time.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/window.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pipeline.h"
#include "bidder/stages.h"
#include "net/http.h"
#include "net/server.h"
#include "openrtb/validate.h"
#include "resilience/shedder.h"

namespace spillway::app::bidding {
namespace {

constexpr base::Duration kBeat = std::chrono::milliseconds(250);
// Some 0.2 ms; 100,000 campaigns are through after five seconds.
constexpr size_t kCarriedABeat = 5'000;

size_t most_candidates(const BidderConfig& config) {
  return config.pipeline.request.imps_kept * config.pipeline.candidates;
}

}  // namespace

Worker::Worker(uint32_t index, const base::Clock& clock, uint64_t process,
               const BidderConfig& config, Shared& shared)
    : index_(index),
      process_(process),
      reactor_(clock),
      shared_(shared),
      shedder_(config.shedding.queue),
      pacer_(config.pacing),
      scratch_(most_candidates(config)) {}

Worker::~Worker() = default;

void Worker::deploy(std::shared_ptr<const Deployment> deployment,
                    std::shared_ptr<bidder::PacerTable> pacing) {
  reactor_.post([this, next = std::move(deployment), table = std::move(pacing)]() mutable {
    take_on(std::move(next), std::move(table));
  });
}

void Worker::take_on(std::shared_ptr<const Deployment> deployment,
                     std::shared_ptr<bidder::PacerTable> pacing) {
  if (pacing != nullptr) {
    pacer_.take(std::move(pacing));
  }
  shedder_.set(deployment->config->shedding.queue);
  refusals_.set(deployment->config->shedding.brake);
  deployment_ = std::move(deployment);
  if (!heart_.armed()) {
    beat(reactor_.now());
  }
}

void Worker::beat(base::Instant now) {
  stats_.turns.add();
  (void)pacer_.carry_over(kCarriedABeat);
  if (stores_ != nullptr) {
    stores_->set_shed_level(static_cast<uint8_t>(shedder_.level()));
    stores_->publish();
  }
  reactor_.timers().arm(heart_, now + kBeat);
}

void Worker::on_request(const net::Request& request, net::Reply reply) {
  const std::string_view path = request.path();
  if (path.starts_with(kNoticePath) && deployment_ != nullptr && deployment_->signer != nullptr) {
    on_notice(request, std::move(reply));
    return;
  }
  if (path == kBidPath && deployment_ == nullptr) {
    reply.send(text_answer(503, "there is no catalog yet"));
    return;
  }
  if (path != kBidPath) {
    stats_.not_found.add();
    reply.send(text_answer(404, "there is POST /openrtb2/bid"));
    return;
  }
  if (request.method != "POST") {
    stats_.wrong_method.add();
    auto response = text_answer(405, "method: must be POST");
    response.headers.emplace_back("Allow", "POST");
    reply.send(std::move(response));
    return;
  }
  const auto exchange = exchange_of(request);
  if (!exchange) {
    stats_.unknown_exchange.add();
    reply.send(text_answer(403, "exchange: is none of ours"));
    return;
  }
  serve(request, std::move(reply), *exchange);
}

// Without a name it is the first that is configured.
std::optional<size_t> Worker::exchange_of(const net::Request& request) const {
  constexpr std::string_view kName = "exchange=";
  std::string_view query = request.query();
  while (!query.empty() && !query.starts_with(kName)) {
    const size_t end = query.find('&');
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
  }
  if (query.empty()) {
    return 0;
  }
  query.remove_prefix(kName.size());
  const auto& exchanges = deployment_->config->exchanges;
  const auto found =
      std::ranges::find(exchanges, query.substr(0, query.find('&')), &bidder::ExchangeTerms::name);
  return found == exchanges.end() ? std::nullopt
                                  : std::optional(static_cast<size_t>(found - exchanges.begin()));
}

resilience::Shed Worker::judge(const net::Request& request, base::Instant now) {
  constexpr auto kClass = resilience::Criticality::kCriticalPlus;
  const auto& shedding = deployment_->config->shedding;
  const auto in_flight = static_cast<uint32_t>(flights_.size() - free_.size());
  auto decision = shedder_.decide(now, request.queue_age, in_flight, kClass);
  auto reason = static_cast<size_t>(decision.reason);
  if (server_ != nullptr &&
      server_->counters(index_).buffered_bytes.value() > shedding.level_2_bytes) {
    decision.shed = resilience::Shed::kLevel2;
    reason = WorkerStats::kShedForMemory;
  }
  if (decision.shed != resilience::Shed::kAdmit) {
    stats_.shed[static_cast<size_t>(decision.shed) - 1][reason].add();
    refusals_.note();
  }
  return decision.shed;
}

void Worker::serve(const net::Request& request, net::Reply reply, size_t exchange) {
  const base::Instant now = reactor_.refresh();
  stats_.queue_age.record(request.queue_age);
  const auto shed = judge(request, now);
  if (shed == resilience::Shed::kLevel2) {
    auto response = no_content();
    response.refusal = true;
    reply.send(std::move(response));
    return;
  }
  Flight& flight = take_flight();
  flight.reply = std::move(reply);
  flight.time_zero = request.time_zero;
  flight.deployment = deployment_;
  flight.pipeline.begin(world_of(*deployment_),
                        {.now = now,
                         .time_zero = request.time_zero,
                         .unix_s = wall_clock_ms() / 1'000,
                         .bid_key = base::combine64(process_, ++requests_ << 8U | index_),
                         .shed = shed == resilience::Shed::kLevel1,
                         .debug = false,
                         .exchange = exchange,
                         .body = request.body});
  drive(flight);
}

bidder::World Worker::world_of(const Deployment& deployment) {
  const auto& config = *deployment.config;
  return {.settings = &config.pipeline,
          .exchanges = config.exchanges,
          .catalog = &deployment.catalog->catalog,
          .in_flight = {deployment.flights[0].get(), deployment.flights[1].get()},
          .terms = deployment.catalog->terms,
          .models = deployment.models.get(),
          .rates = &config.rates,
          .signer = deployment.signer.get(),
          .caps = &shared_.caps,
          .grant = &shared_.grant,
          .pacer = &pacer_,
          .scratch = &scratch_,
          .geo = shared_.geo,
          .shading = deployment.shade.hook(),
          .asks_segments = stores_ != nullptr && stores_->has_segments(),
          .asks_caps = stores_ != nullptr && stores_->has_counts()};
}

Flight& Worker::take_flight() {
  if (free_.empty()) {
    flights_.push_back(
        std::make_unique<Flight>(*this, static_cast<uint32_t>(flights_.size()), stats_));
    free_.push_back(flights_.back().get());
  }
  Flight& flight = *free_.back();
  free_.pop_back();
  stats_.in_flight.add();
  return flight;
}

// Runs stages until there is an answer, or one must be waited for.
void Worker::drive(Flight& flight) {
  for (;;) {
    const auto next = flight.pipeline.step(reactor_.refresh());
    if (next == bidder::Pipeline::Next::kDone) {
      return answer(flight);
    }
    if (next == bidder::Pipeline::Next::kAsk && !ask(flight)) {
      reactor_.timers().arm(flight, flight.pipeline.ask().until);
      flight.reply.on_gone([this, gone = &flight] { caller_gone(*gone); });
      return;
    }
  }
}

// True: it was answered at once.
bool Worker::ask(Flight& flight) {
  const auto& ask = flight.pipeline.ask();
  if (ask.what == bidder::Ask::What::kSegments) {
    const auto segments = stores_->segments(ask.user, ask.until, flight.tag());
    if (segments) {
      flight.pipeline.on_segments(*segments);
    }
    flight.asking = !segments;
  } else {
    const auto counts = stores_->counts(ask.user, ask.keys, ask.until, flight.tag());
    if (!counts.later) {
      flight.pipeline.on_counts(counts.counts);
    }
    flight.asking = counts.later;
  }
  return !flight.asking;
}

void Worker::stop_asking(Flight& flight) {
  flight.cancel();
  if (flight.asking) {
    flight.asking = false;
    stores_->cancel(flight.tag());
  }
}

void Worker::on_patience_over(Flight& flight) {
  if (!flight.asking) {
    return;
  }
  stop_asking(flight);
  if (flight.pipeline.ask().what == bidder::Ask::What::kSegments) {
    flight.pipeline.on_segments({});
  } else {
    flight.pipeline.on_counts(std::nullopt);
  }
  drive(flight);
}

Flight* Worker::flight_of(uint64_t tag) {
  const auto slot = static_cast<uint32_t>(tag);
  Flight* const flight = slot < flights_.size() ? flights_[slot].get() : nullptr;
  return flight != nullptr && flight->tag() == tag && flight->asking ? flight : nullptr;
}

void Worker::on_segments(uint64_t tag, const bidder::caps::Segments& segments) {
  Flight* const flight = flight_of(tag);
  if (flight == nullptr || flight->pipeline.ask().what != bidder::Ask::What::kSegments) {
    return;
  }
  flight->asking = false;
  flight->cancel();
  flight->pipeline.on_segments(segments);
  drive(*flight);
}

void Worker::on_counts(uint64_t tag,
                       std::optional<std::span<const bidder::caps::CapCounts>> counts) {
  Flight* const flight = flight_of(tag);
  if (flight == nullptr || flight->pipeline.ask().what != bidder::Ask::What::kCounts) {
    return;
  }
  flight->asking = false;
  flight->cancel();
  flight->pipeline.on_counts(counts);
  drive(*flight);
}

void Worker::answer(Flight& flight) {
  auto& pipeline = flight.pipeline;
  const base::Instant now = reactor_.now();
  stats_.answer_time.record(now - flight.time_zero);
  net::Response response;
  if (pipeline.reason() == bidder::NoBidReason::kInvalid) {
    stats_.invalid.add();
    response = json_answer(400, openrtb::error_json(pipeline.error()));
  } else if (pipeline.body().empty()) {
    response = no_content();
    response.refusal = pipeline.reason() == bidder::NoBidReason::kShed;
  } else {
    response = json_answer(200, pipeline.body());
    stats_.arms[static_cast<size_t>(pipeline.arm())].add(pipeline.bids() > 0 ? 1 : 0);
    log_bids(pipeline);
  }
  flight.reply.set_deadline(pipeline.tmax_at());
  flight.reply.send(std::move(response));
  release(flight);
}

void Worker::log_bids(const bidder::Pipeline& pipeline) {
  if (!shared_.events.enabled()) {
    return;
  }
  for (const auto& bid : pipeline.sent()) {
    const auto& claims = bid.claims;
    if (!claims.test) {
      shared_.events.offer(index_, {.kind = BidEvent::Kind::kBid,
                                    .arm = claims.arm,
                                    .unix_ms = wall_clock_ms(),
                                    .bid = claims.bid,
                                    .campaign = claims.campaign,
                                    .line_item = bid.line_item,
                                    .creative = claims.creative,
                                    .price = bid.price,
                                    .currency = claims.currency,
                                    .exchange = std::string_view(pipeline.exchange().name),
                                    .request = pipeline.request_id(),
                                    .imp = bid.imp});
    }
  }
}

void Worker::caller_gone(Flight& flight) {
  stats_.callers_gone.add();
  stop_asking(flight);
  flight.pipeline.abandon();
  // Its Reply is calling us: it may not be destroyed from in here.
  reactor_.post([this, gone = &flight] { release(*gone); });
}

void Worker::release(Flight& flight) {
  stop_asking(flight);
  flight.reply = {};
  flight.deployment.reset();
  ++flight.turn;
  stats_.in_flight.subtract();
  free_.push_back(&flight);
}

}  // namespace spillway::app::bidding
