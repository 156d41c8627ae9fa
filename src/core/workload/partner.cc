#include "workload/partner.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "workload/bidding.h"
#include "workload/fault.h"
#include "workload/latency.h"
#include "workload/script.h"

namespace spillway::workload {

namespace {

constexpr std::string_view kGarbage = R"({"id":"x","seatbid":[{"bid":[{)";

void add_all(std::vector<Problem>& problems, std::vector<Problem> more, const std::string& prefix) {
  for (auto& problem : more) {
    const std::string dot = prefix.empty() || problem.key.empty() ? "" : ".";
    problems.push_back({.key = prefix + dot + problem.key, .what = std::move(problem.what)});
  }
}

}  // namespace

std::vector<Problem> validate(const PartnerSettings& settings) {
  std::vector<Problem> problems = validate(settings.style);
  add_all(problems, validate(settings.latency), "latency");
  for (size_t i = 0; i < settings.faults.size(); ++i) {
    add_all(problems, validate(settings.faults[i]), "faults[" + std::to_string(i) + "]");
  }
  if (settings.tmax_reserve < base::Duration::zero() ||
      settings.tmax_reserve > std::chrono::seconds(1)) {
    problems.push_back({.key = "tmax_reserve", .what = "must be from 0 to 1s"});
  }
  return problems;
}

Partner::Partner(PartnerSettings settings, base::Instant start, uint64_t seed)
    : settings_(std::move(settings)),
      bidding_(settings_.style),
      faults_(settings_.faults, start),
      rng_(seed) {}

Plan Partner::on_call(base::Instant now, std::string_view request, std::string_view host) {
  account_.calls.add();
  tmax_ = {};
  Plan plan;
  plan.delay = settings_.latency.sample(rng_);
  bool keeps_tmax = settings_.keeps_tmax;
  if (const Hit hit = faults_.draw(now, host, rng_)) {
    account_.faults[static_cast<size_t>(hit->kind)].add();
    plan.fault = hit->kind;
    keeps_tmax = keeps_tmax || hit->keeps_tmax;
    delay_by(plan, hit, now);
    spoil(plan, *hit.fault, request);
  } else if (!settings_.script.empty()) {
    play(plan, settings_.script.next(), request);
  } else {
    answer(plan, request, Spoil::kNothing);
  }
  if (keeps_tmax) {
    keep_tmax(plan);
  }
  count(plan);
  return plan;
}

void Partner::answer(Plan& plan, std::string_view request, Spoil how, std::optional<bool> wants) {
  BidAnswer answer = bidding_.answer(request, account_.calls.value(), how, rng_, wants);
  plan.status = answer.status;
  plan.body = std::move(answer.body);
  plan.bids = answer.bids;
  tmax_ = answer.tmax;
}

/// What a fault does to the time of an answer.
void Partner::delay_by(Plan& plan, const Hit& hit, base::Instant now) {
  const Fault& fault = *hit.fault;
  if (fault.kind == FaultKind::kDeadButFast) {
    plan.delay = base::Duration::zero();
  }
  if (fault.kind != FaultKind::kSlow && fault.kind != FaultKind::kBrownOut) {
    return;
  }
  plan.delay = fault.latency ? fault.latency->sample(rng_) : plan.delay;
  if (fault.kind == FaultKind::kBrownOut) {
    const auto time = queue_.enter(now, plan.delay, fault.servers, fault.longest_wait);
    plan.delay = time.value_or(base::Duration::zero());
    plan.status = time ? plan.status : 503;
    return;
  }
  plan.delay += fault.added;
  if (fault.over > base::Duration::zero()) {
    const double grown = std::min(1.0, base::to_ms(hit.age) / base::to_ms(fault.over));
    const auto growth = static_cast<double>((fault.added_to - fault.added).count());
    plan.delay += base::Duration(static_cast<int64_t>(growth * grown));
  }
}

void Partner::play(Plan& plan, const ScriptedCall& call, std::string_view request) {
  plan.delay = call.delay;
  switch (call.does) {
    case ScriptedCall::Does::kBid:
    case ScriptedCall::Does::kNoBid:
      answer(plan, request, Spoil::kNothing, call.does == ScriptedCall::Does::kBid);
      break;
    case ScriptedCall::Does::kHang:
      plan.action = Plan::Action::kHang;
      break;
    case ScriptedCall::Does::kReset:
      plan.action = Plan::Action::kReset;
      break;
    case ScriptedCall::Does::kGarbage:
      plan.body = kGarbage;
      plan.garbage = true;
      break;
    case ScriptedCall::Does::kStatus:
      plan.status = call.status;
      break;
  }
}

/// Gives up in time on an answer that would come too late.
void Partner::keep_tmax(Plan& plan) const {
  const base::Duration in_time = tmax_ - settings_.tmax_reserve;
  if (plan.action != Plan::Action::kAnswer || tmax_ == base::Duration::zero() ||
      plan.delay <= in_time) {
    return;
  }
  BidAnswer no_bid = bidding_.decline();
  plan.delay = std::max(in_time, base::Duration::zero());
  plan.status = no_bid.status;
  plan.body = std::move(no_bid.body);
  plan.bids = 0;
}

void Partner::spoil(Plan& plan, const Fault& fault, std::string_view request) {
  switch (fault.kind) {
    case FaultKind::kSlow:
      answer(plan, request, Spoil::kNothing);
      break;
    case FaultKind::kBrownOut:
      if (plan.status != 503) {
        answer(plan, request, Spoil::kNothing);
      }
      break;
    case FaultKind::kHang:
      plan.action = Plan::Action::kHang;
      break;
    case FaultKind::kReset:
    case FaultKind::kClosedListener:  // a call that came in on a connection not yet dropped
      plan.action = Plan::Action::kReset;
      break;
    case FaultKind::kServerError:
      plan.status = fault.status;
      plan.retry_after = fault.retry_after;
      break;
    case FaultKind::kOverload:
      plan.status = 429;
      plan.retry_after = fault.retry_after;
      break;
    case FaultKind::kGarbage:
      plan.action = fault.raw ? Plan::Action::kRaw : Plan::Action::kAnswer;
      plan.body = fault.raw ? "\x16\x03\x01 this is no HTTP\r\n\r\n" : kGarbage;
      plan.garbage = true;
      break;
    case FaultKind::kDrip:
      answer(plan, request, Spoil::kNothing);
      plan.action = Plan::Action::kDrip;
      plan.drip_interval = fault.drip_interval;
      plan.drip_bytes = fault.drip_bytes;
      break;
    case FaultKind::kOversize:
      answer(plan, request, Spoil::kNothing);
      plan.status = 200;
      plan.body.append(
          fault.body_bytes > plan.body.size() ? fault.body_bytes - plan.body.size() : 0, ' ');
      break;
    case FaultKind::kWrongImpid:
      answer(plan, request, Spoil::kImpid);
      break;
    case FaultKind::kWrongCurrency:
      answer(plan, request, Spoil::kCurrency);
      break;
    case FaultKind::kDeadButFast:
      plan.status = 204;
      break;
  }
}

void Partner::count(const Plan& plan) {
  if (plan.action == Plan::Action::kHang) {
    account_.hung.add();
  } else if (plan.action == Plan::Action::kReset) {
    account_.reset.add();
  } else if (plan.status >= 429 || plan.garbage) {
    account_.errors.add();
  } else if (plan.status == 400) {
    account_.bad_requests.add();
  } else if (plan.bids > 0) {
    account_.bids.add();
    account_.bids_sent.add(plan.bids);
  } else {
    account_.no_bids.add();
  }
}

}  // namespace spillway::workload
