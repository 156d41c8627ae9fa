#include "faults/virtual_dsp.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/call_result.h"
#include "base/time.h"
#include "exchange/bid_watch.h"
#include "exchange/call.h"
#include "openrtb/validate.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"
#include "workload/corpus.h"
#include "workload/fault.h"
#include "workload/partner.h"

namespace spillway::faults {

using base::CallError;
using base::CallPhase;

namespace {

constexpr size_t kRequests = 64;
constexpr base::Duration kConnectTime = 100us;
constexpr base::Duration kTail = 1s;
constexpr base::Duration kMargin = 5ms;

}  // namespace

/// A request and what the exchange read in it.
struct VirtualDsp::Asked {
  explicit Asked(std::string_view text) : bytes(text) {
    SPILLWAY_ASSERT(document.walk(bytes.view()).has_value());
    SPILLWAY_ASSERT(openrtb::read_request(document, {}, view).has_value());
  }

  openrtb::Padded bytes;
  openrtb::Document document;
  openrtb::RequestView view;
};

struct VirtualDsp::Call {
  base::Instant started{};
  base::Instant whole_at = base::kNever;  ///< When its last byte comes, in time or late.
  base::CallResult result;
  std::string body;
  const Asked* request = nullptr;
  resilience::Permit permit;
  resilience::Tail tail;
};

VirtualDsp::VirtualDsp(uint64_t seed, workload::PartnerSettings partner,
                       const resilience::Settings& settings)
    : guard("dsp/eu/display", settings, 1, seed, base::Instant(1h)),
      rng(seed * 7919),
      partner_(std::move(partner), base::Instant(1h), seed + 1) {
  const auto corpus = workload::Corpus::generate({.seed = seed, .requests = kRequests});
  for (size_t i = 0; i < kRequests; ++i) {
    requests_.push_back(std::make_unique<Asked>(corpus.bytes(i, "r" + std::to_string(i))));
  }
  snapshot_.accounts.emplace_back();
  auto& dsp = snapshot_.dsps.emplace_back();
  dsp.name = dsp.seat = "dsp";
  dsp.endpoints.emplace_back();
}

VirtualDsp::~VirtualDsp() = default;

workload::PartnerSettings VirtualDsp::healthy() {
  workload::PartnerSettings partner;
  partner.latency = workload::Latency::lognormal(22ms, 0.05);
  return partner;
}

base::Duration VirtualDsp::usual_budget(base::Rng& rng) {
  constexpr std::array kTmaxMs{100, 120, 150, 200, 300};
  const auto pick = static_cast<size_t>(rng.uniform() * kTmaxMs.size());
  return std::chrono::milliseconds(kTmaxMs[std::min(pick, kTmaxMs.size() - 1)]) - kMargin;
}

void VirtualDsp::inject(const workload::Fault& fault, base::Duration lasting) {
  SPILLWAY_ASSERT(partner_.faults().inject(fault, now, lasting));
}

base::Duration VirtualDsp::gap(double rate) {
  return base::Duration(static_cast<int64_t>(-std::log(1 - rng.uniform()) / rate * 1e9) + 1);
}

void VirtualDsp::run(base::Duration time, double rate, const std::function<bool()>& until,
                     const Offered& offered) {
  const base::Instant end = now + time;
  base::Instant arrival = now + gap(rate);
  while (now < end) {
    const base::Instant returned = pending_.empty() ? base::kNever : pending_.top().at;
    const base::Instant next = std::min({arrival, returned, next_tick_, end});
    now = next;
    if (next == returned) {
      const size_t index = pending_.top().index;
      pending_.pop();
      settle(index);
    } else if (next == next_tick_) {
      tick();
      if (until && until()) {
        return;
      }
    } else if (next == arrival) {
      arrival += gap(rate);
      ask(offered(rng));
    }
  }
}

std::optional<base::Duration> VirtualDsp::until(resilience::State state, base::Duration limit,
                                                double rate, const Offered& offered) {
  const base::Instant start = now;
  const auto reached = [&] { return guard.peek().state == state; };
  run(limit, rate, reached, offered);
  return reached() ? std::optional(now - start) : std::nullopt;
}

void VirtualDsp::tick() {
  next_tick_ += 100ms;
  guard.tick(now, log);
  if (++ticks_ % 10 == 0) {
    watch_.tick(now, counts_, alert_log);
  }
}

size_t VirtualDsp::take_slot() {
  if (free_.empty()) {
    calls_.push_back(std::make_unique<Call>());
    return calls_.size() - 1;
  }
  const size_t index = free_.back();
  free_.pop_back();
  *calls_[index] = Call{};
  return index;
}

/// The next request whose tmax leaves this time, so that who keeps tmax keeps this; else the next.
const VirtualDsp::Asked& VirtualDsp::request_for(base::Duration offered) {
  const size_t first = serial_++;
  for (size_t i = first; i < first + kRequests; ++i) {
    if (requests_[i % kRequests]->view.tmax == offered + kMargin) {
      return *requests_[i % kRequests];
    }
  }
  return *requests_[first % kRequests];
}

void VirtualDsp::ask(base::Duration offered) {
  auto permit = guard.admit(0, {.now = now, .offered = offered, .request_hash = rng.next()});
  if (!permit) {
    ++refused;
    return;
  }
  ++admitted;
  const size_t index = take_slot();
  Call& call = *calls_[index];
  call.started = now;
  call.permit = std::move(*permit);
  call.request = &request_for(offered);
  auto& result = call.result;
  result.started_at = now;
  result.reused = result.retried = true;
  result.phase = CallPhase::kDone;
  if (!partner_.faults().listening(now, "")) {
    result.phase = CallPhase::kConnect;
    result.error = CallError::kRefused;
    call.whole_at = now + kConnectTime;
  } else {
    auto plan = partner_.on_call(now, call.request->bytes.view());
    using Action = workload::Plan::Action;
    result.status = plan.status;
    result.retry_after = plan.retry_after;
    result.received_bytes = plan.body.size() + 100;
    call.body = std::move(plan.body);
    call.whole_at = plan.action == Action::kHang ? base::kNever : now + plan.delay;
    if (plan.action == Action::kDrip) {
      const size_t pieces = result.received_bytes / plan.drip_bytes;
      call.whole_at += plan.drip_interval * static_cast<int64_t>(pieces);
    } else if (plan.action == Action::kReset) {
      result.error = CallError::kReset;
    } else if (plan.action == Action::kRaw) {
      result.error = CallError::kProtocol;
    } else if (call.body.size() > snapshot_.dsps[0].answer_bytes) {
      result.error = CallError::kTooLarge;
    }
    if (result.error != CallError::kNone) {
      result.phase = CallPhase::kFirstByte;
    }
  }
  if (call.whole_at > now + offered) {
    result.phase = CallPhase::kFirstByte;
    result.error = CallError::kTimeout;
    result.status = 0;
    result.received_bytes = 0;
  }
  result.ended_at = std::min(call.whole_at, now + offered);
  pending_.push({.at = result.ended_at, .index = index});
}

void VirtualDsp::settle(size_t index) {
  Call& call = *calls_[index];
  if (!call.permit) {
    if (call.whole_at == now) {
      call.tail.settle(now - call.started);
    }
    call.tail = {};
    free_.push_back(index);
    return;
  }
  answer_.reset();
  answer_.terms = call.permit.terms();
  const exchange::Answering asked{.snapshot = &snapshot_,
                                  .request = &call.request->view,
                                  .account = &snapshot_.accounts[0],
                                  .candidate = &candidate_};
  candidate_.imps.clear();
  for (uint32_t i = 0; i < call.request->view.imps.size(); ++i) {
    candidate_.imps.push_back(i);
  }
  const auto outcome = exchange::take_answer(answer_, asked, call.result, call.body);
  ++outcomes_[static_cast<size_t>(outcome)];
  counts_.answers +=
      outcome == resilience::Outcome::kOk || outcome == resilience::Outcome::kSlow ? 1 : 0;
  counts_.bidding += answer_.report.bids > 0 ? 1 : 0;
  counts_.useless += answer_.report.bids > 0 && answer_.report.bids_valid == 0 ? 1 : 0;
  call.tail = call.permit.finish(now, outcome);
  if (call.result.error == CallError::kTimeout) {
    pending_.push({.at = std::min(call.whole_at, now + kTail), .index = index});
    return;
  }
  call.tail = {};
  free_.push_back(index);
}

int VirtualDsp::opened() const {
  return static_cast<int>(std::ranges::count_if(log, [](const auto& move) {
    return move.to_state == resilience::State::kOpen && move.from_state != move.to_state;
  }));
}

bool VirtualDsp::alerting() const {
  return watch_.raised(exchange::BidAlert::kUselessBids) ||
         watch_.raised(exchange::BidAlert::kBidRateCollapse);
}

}  // namespace spillway::faults
