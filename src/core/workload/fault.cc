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
                                                              "dead_but_fast",
                                                              "brown_out"};

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
  constexpr base::Duration kZero{};
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
  want(fault.every == kZero ? fault.on == kZero : fault.on > kZero && fault.on < fault.every, "on",
       "must be over 0 and shorter than every, and neither is there without the other");
  want(fault.servers >= 1 && fault.servers <= 10'000, "servers", "must be from 1 to 10 000");
  if (fault.kind == FaultKind::kSlow) {
    want(fault.latency.has_value() || fault.added > kZero || fault.added_to > kZero, "latency",
         "a slow fault needs latency, added or added_to");
    want((fault.added_to > kZero) == (fault.over > kZero), "over",
         "must be there with added_to, and only then");
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

bool FaultSchedule::Entry::active(base::Instant now) const {
  return now >= from && now < to &&
         (fault.every == base::Duration::zero() || (now - from) % fault.every < fault.on);
}

bool FaultSchedule::Entry::at(std::string_view host) const {
  return fault.host.empty() || fault.host == host;
}

Hit FaultSchedule::draw(base::Instant now, std::string_view host, base::Rng& rng) const {
  for (const auto* entries : {&operator_, &scheduled_}) {
    for (const Entry& entry : *entries) {
      if (entry.active(now) && entry.at(host) &&
          (entry.fault.share_ratio >= 1 || rng.uniform() < entry.fault.share_ratio)) {
        return {.fault = &entry.fault, .age = now - entry.from};
      }
    }
  }
  return {};
}

bool FaultSchedule::listening(base::Instant now, std::string_view host) const {
  for (const auto* entries : {&operator_, &scheduled_}) {
    for (const Entry& entry : *entries) {
      if (entry.fault.kind == FaultKind::kClosedListener && entry.active(now) && entry.at(host)) {
        return false;
      }
    }
  }
  return true;
}

std::vector<FaultKind> FaultSchedule::active(base::Instant now) const {
  std::vector<FaultKind> kinds;
  for (const auto* entries : {&operator_, &scheduled_}) {
    for (const Entry& entry : *entries) {
      if (entry.active(now)) {
        kinds.push_back(entry.fault.kind);
      }
    }
  }
  return kinds;
}

}  // namespace spillway::workload
