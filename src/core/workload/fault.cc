#include "workload/fault.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "workload/latency.h"

namespace spillway::workload {

namespace {

constexpr std::array<std::string_view, kFaultKinds> kNames = {"slow",
                                                              "hang",
                                                              "reset",
                                                              "5xx",
                                                              "429",
                                                              "garbage",
                                                              "drip",
                                                              "oversize",
                                                              "wrong_impid",
                                                              "wrong_currency",
                                                              "closed_listener",
                                                              "dead_but_fast"};

base::Instant after(base::Instant start, base::Duration offset) {
  return offset > base::kNever - start ? base::kNever : start + offset;
}

}  // namespace

std::string_view to_string(FaultKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<FaultKind> fault_kind_of(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return static_cast<FaultKind>(i);
    }
  }
  return std::nullopt;
}

std::vector<Problem> validate(const Fault& fault) {
  std::vector<Problem> problems;
  const auto want = [&](bool sound, std::string_view key, std::string_view what) {
    if (!sound) {
      problems.push_back({.key = std::string(key), .what = std::string(what)});
    }
  };
  want(fault.to > fault.from, "to", "must be later than from");
  want(fault.share_ratio >= 0 && fault.share_ratio <= 1, "share", "must be from 0 to 1");
  want(fault.status >= 500 && fault.status <= 599, "status", "must be from 500 to 599");
  want(fault.drip_interval >= std::chrono::milliseconds(1) &&
           fault.drip_interval <= std::chrono::seconds(60),
       "drip_interval", "must be from 1ms to 60s");
  want(fault.drip_bytes >= 1 && fault.drip_bytes <= 64 * 1024, "drip_bytes",
       "must be from 1 to 64KiB");
  want(fault.body_bytes >= 1024 && fault.body_bytes <= (size_t{64} << 20), "body_bytes",
       "must be from 1KiB to 64MiB");
  if (fault.kind == FaultKind::kSlow) {
    want(fault.latency.has_value() || fault.added > base::Duration::zero(), "latency",
         "a slow fault needs latency or added");
  }
  if (fault.latency) {
    for (auto& problem : validate(*fault.latency)) {
      problems.push_back({.key = problem.key.empty() ? "latency" : "latency." + problem.key,
                          .what = std::move(problem.what)});
    }
  }
  return problems;
}

FaultSchedule::FaultSchedule(const std::vector<Fault>& faults, base::Instant start) {
  for (const auto& fault : faults) {
    const base::Instant from = after(start, fault.from);
    const base::Instant to = after(start, fault.to);
    scheduled_.push_back({.fault = fault, .from = from, .to = to});
  }
}

bool FaultSchedule::inject(const Fault& fault, base::Instant now, base::Duration lasting) {
  std::erase_if(operator_, [&](const Entry& entry) { return entry.to <= now; });
  if (operator_.size() >= kOperatorFaults) {
    return false;
  }
  operator_.insert(operator_.begin(), {.fault = fault, .from = now, .to = after(now, lasting)});
  return true;
}

void FaultSchedule::clear(bool scheduled) {
  operator_.clear();
  if (scheduled) {
    scheduled_.clear();
  }
}

const Fault* FaultSchedule::draw(base::Instant now, base::Rng& rng) const {
  for (const auto* entries : {&operator_, &scheduled_}) {
    for (const Entry& entry : *entries) {
      if (now >= entry.from && now < entry.to &&
          (entry.fault.share_ratio >= 1 || rng.uniform() < entry.fault.share_ratio)) {
        return &entry.fault;
      }
    }
  }
  return nullptr;
}

bool FaultSchedule::listening(base::Instant now) const {
  for (const FaultKind kind : active(now)) {
    if (kind == FaultKind::kClosedListener) {
      return false;
    }
  }
  return true;
}

std::vector<FaultKind> FaultSchedule::active(base::Instant now) const {
  std::vector<FaultKind> kinds;
  for (const auto* entries : {&operator_, &scheduled_}) {
    for (const Entry& entry : *entries) {
      if (now >= entry.from && now < entry.to) {
        kinds.push_back(entry.fault.kind);
      }
    }
  }
  return kinds;
}

}  // namespace spillway::workload
