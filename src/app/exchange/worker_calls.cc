#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "app/exchange/flight.h"
#include "app/exchange/stats.h"
#include "app/exchange/worker.h"
#include "app/exchange/worker_parts.h"
#include "base/call_result.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "net/client.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::app {
namespace {

// A fresh connection took one round trip to come about. The least one seen is the network's; it is
// forgotten by a sixteenth of the difference a sample, so that a moved peer is noticed.
void learn_network_cost(base::Duration sample, base::Duration& cost, bool& known) {
  constexpr int kForget = 16;
  if (!known || sample < cost) {
    cost = sample;
    known = true;
  } else {
    cost += (sample - cost) / kForget;
  }
}

bool is_whole(const base::CallResult& result) {
  return result.error == base::CallError::kNone && result.phase == base::CallPhase::kDone;
}

}  // namespace

void Worker::ask_guards(Flight& flight, base::Instant now) {
  const auto candidates = flight.auction.candidates();
  const auto& route = *static_cast<const Route*>(flight.route.get());
  flight.admissions.resize(candidates.size());
  flight.verdicts.resize(candidates.size());
  const resilience::Attempt attempt{.now = now,
                                    .offered = flight.auction.deadline() - now,
                                    .request_hash = flight.auction.request_hash()};
  for (size_t i = 0; i < candidates.size(); ++i) {
    Target& target = *route.targets[candidates[i].dsp][candidates[i].endpoint];
    auto& verdict = flight.verdicts[i];
    verdict = {.refusal = 0, .terms = {}, .network_cost = target.network_cost};
    auto permit = target.guard->admit(index_, attempt);
    if (permit) {
      verdict.terms = permit->terms();
      flight.admissions[i].permit = std::move(*permit);
      continue;
    }
    verdict.refusal = static_cast<uint16_t>(permit.error());
    target.stats->refused[verdict.refusal - kFirstRefusal].add();
  }
}

void Worker::send_asks(Flight& flight, std::span<const exchange::Ask> asks, base::Instant now) {
  for (const auto& ask : asks) {
    send_ask(flight, ask);
  }
  // Admitted, but the auction saw no use in asking: nobody's fault.
  for (auto& admission : flight.admissions) {
    if (admission.permit) {
      (void)admission.permit.finish(now, resilience::Outcome::kNotSent);
    }
  }
}

void Worker::send_ask(Flight& flight, const exchange::Ask& ask) {
  const auto& candidate = flight.auction.candidates()[ask.candidate];
  const auto& route = *static_cast<const Route*>(flight.route.get());
  Target& target = *route.targets[candidate.dsp][candidate.endpoint];
  const auto& endpoint = route.snapshot().dsps[candidate.dsp].endpoints[candidate.endpoint];
  const uint32_t slot = take_call();
  Call& call = *calls_[slot];
  call.flight = &flight;
  call.target = &target;
  call.candidate = ask.candidate;
  call.permit = std::move(flight.admissions[ask.candidate].permit);
  ++target.calls_open;
  ++flight.calls_open;
  call.place = static_cast<uint32_t>(flight.call_slots.size());
  flight.call_slots.push_back(slot);
  target.stats->asked.add();
  const net::CallDeadlines deadlines{
      .connect_by = ask.deadline, .first_byte_by = ask.deadline, .answer_by = ask.deadline};
  call.client_id = client_.call(target.id, "POST", endpoint.target, target.headers, ask.body,
                                deadlines, slot, *this);
}

uint32_t Worker::take_call() {
  stats_.calls_open.add();
  if (free_calls_.empty()) {
    calls_.push_back(std::make_unique<Call>());
    return static_cast<uint32_t>(calls_.size() - 1);
  }
  const uint32_t slot = free_calls_.back();
  free_calls_.pop_back();
  return slot;
}

void Worker::free_call(uint32_t slot) {
  Call& call = *calls_[slot];
  --call.target->calls_open;
  call.flight = nullptr;
  call.target = nullptr;
  call.tail = resilience::Tail();
  stats_.calls_open.subtract();
  free_calls_.push_back(slot);
  if (retiring_) {
    drop_unused_targets();
  }
}

void Worker::on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                       bool draining) {
  const auto slot = static_cast<uint32_t>(tag);
  Call& call = *calls_[slot];
  Flight& flight = *call.flight;
  EndpointStats& stats = *call.target->stats;
  const base::Instant now = std::max(reactor_.now(), result.ended_at);
  const bool counts = !flight.auction.finished();
  const auto outcome = flight.auction.on_answer(now, call.candidate, result, body);
  if (flight.record != nullptr && counts) {
    flight.record->take_answer(now, call.candidate, result, body);
  }
  call.tail = call.permit.finish(now, outcome);
  call.target->hosts->report(result.host, outcome, result.elapsed() - result.connect_time);
  stats.outcomes[static_cast<size_t>(outcome)].add();
  if (is_whole(result)) {
    stats.latency.record(result.elapsed());
  }
  if (result.connect_time > base::Duration::zero() && is_whole(result) && !result.reused) {
    learn_network_cost(result.connect_time, call.target->network_cost, call.target->cost_known);
  }
  call.flight = nullptr;
  const uint32_t moved = flight.call_slots.back();
  flight.call_slots[call.place] = moved;
  calls_[moved]->place = call.place;
  flight.call_slots.pop_back();
  --flight.calls_open;
  if (!draining) {
    free_call(slot);
  }
  if (!flight.answered && !flight.pinned && flight.auction.all_answered()) {
    end_auction(flight, now);
  }
  release_if_done(flight);
}

void Worker::on_tail(uint64_t tag, const base::CallResult& result) {
  const auto slot = static_cast<uint32_t>(tag);
  Call& call = *calls_[slot];
  if (is_whole(result)) {
    call.tail.settle(result.elapsed());
    call.target->stats->late_answers.add();
    call.target->stats->latency.record(result.elapsed());
  }
  free_call(slot);
}

}  // namespace spillway::app
