#include "workload/partner.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "workload/bidding.h"
#include "workload/fault.h"
#include "workload/latency.h"

namespace spillway::workload {

namespace {

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
  return problems;
}

Partner::Partner(PartnerSettings settings, base::Instant start, uint64_t seed)
    : settings_(std::move(settings)),
      bidding_(settings_.style),
      faults_(settings_.faults, start),
      rng_(seed) {}

Plan Partner::on_call(base::Instant now, std::string_view request) {
  account_.calls.add();
  Plan plan;
  plan.delay = settings_.latency.sample(rng_);
  if (const Fault* fault = faults_.draw(now, rng_)) {
    account_.faults[static_cast<size_t>(fault->kind)].add();
    plan.fault = fault->kind;
    spoil(plan, *fault, request);
  } else {
    answer(plan, request, Spoil::kNothing);
  }
  count(plan);
  return plan;
}

void Partner::answer(Plan& plan, std::string_view request, Spoil how) {
  BidAnswer answer = bidding_.answer(request, account_.calls.value(), how, rng_);
  plan.status = answer.status;
  plan.body = std::move(answer.body);
  plan.bids = answer.bids;
}

void Partner::spoil(Plan& plan, const Fault& fault, std::string_view request) {
  switch (fault.kind) {
    case FaultKind::kSlow:
      plan.delay = (fault.latency ? fault.latency->sample(rng_) : plan.delay) + fault.added;
      answer(plan, request, Spoil::kNothing);
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
      plan.body =
          fault.raw ? "\x16\x03\x01 this is no HTTP\r\n\r\n" : R"({"id":"x","seatbid":[{"bid":[{)";
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
      plan.delay = base::Duration::zero();
      break;
  }
}

void Partner::count(const Plan& plan) {
  if (plan.action == Plan::Action::kHang) {
    account_.hung.add();
  } else if (plan.action == Plan::Action::kReset) {
    account_.reset.add();
  } else if (plan.status >= 429 || plan.fault == FaultKind::kGarbage) {
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
