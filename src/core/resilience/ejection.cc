#include "resilience/ejection.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "resilience/host_settings.h"
#include "resilience/outcome.h"
#include "resilience/sentence.h"
#include "resilience/wilson.h"

namespace spillway::resilience {

namespace {

constexpr double kDoubtZ = 3;
constexpr double kRowChance = 1e-6;
constexpr double kLongestRow = 20;
constexpr uint64_t kUsualCalls = 20;
constexpr double kSigmaOfMad = 1.4826;  // Of a normal distribution.

double failing_share(const HostSample& sample) {
  return static_cast<double>(sample.failures) / static_cast<double>(sample.calls);
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// The largest failing share that the peers of `own` make look usual.
double usual_failing(const std::vector<const HostSample*>& judged, const HostSample* own,
                     double deviations) {
  std::vector<double> shares;
  uint64_t calls = 0;
  for (const HostSample* other : judged) {
    if (other != own) {
      calls += other->calls;
      shares.push_back(failing_share(*other));
    }
  }
  const double middle = median(shares);
  for (double& share : shares) {
    share = std::abs(share - middle);
  }
  const auto good = static_cast<uint64_t>(std::llround((1 - middle) * static_cast<double>(calls)));
  return 1 - wilson_lower_bound(good, calls, deviations) +
         deviations * kSigmaOfMad * median(shares);
}

}  // namespace

HostResult host_result_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
    case Outcome::kSlow:
    case Outcome::kMalformed:
      return HostResult::kGood;
    case Outcome::kTimeout:
    case Outcome::kRefused:
    case Outcome::kReset:
    case Outcome::kTls:
      return HostResult::kLocalFailure;
    case Outcome::kServerError:
      return HostResult::kServerError;
    case Outcome::kShort:
    case Outcome::kOverload:
    case Outcome::kMisconfigured:
    case Outcome::kRejectedByPeer:
    case Outcome::kCancelled:
    case Outcome::kCancelledSlow:
    case Outcome::kNotSent:
    case Outcome::kAbandoned:
      break;
  }
  return HostResult::kNeutral;
}

void suspect_rates(const std::vector<HostSample>& samples, const HostSettings& settings,
                   std::vector<Suspect>& out) {
  std::vector<const HostSample*> judged;
  for (const HostSample& sample : samples) {
    if (sample.calls >= std::max(settings.volume, 1U)) {
      judged.push_back(&sample);
    }
  }
  if (judged.size() < 2) {
    return;
  }
  for (const HostSample* own : judged) {
    const double failing = failing_share(*own);
    if (own->failures < settings.min_failures || 1 - failing >= settings.success_floor) {
      continue;
    }
    const double usual = usual_failing(judged, own, settings.deviations);
    if (wilson_lower_bound(own->failures, own->calls, kDoubtZ) > usual) {
      out.push_back({.slot = own->slot,
                     .rule = "success_rate",
                     .severity = failing,
                     .calls = own->calls,
                     .failures = own->failures,
                     .reason = Sentence()
                                   .number(own->failures)
                                   .text(" of ")
                                   .number(own->calls)
                                   .text(" calls failed; its peers make at most ")
                                   .percent(usual)
                                   .text(" usual")
                                   .str()});
    }
  }
}

void suspect_latencies(const std::vector<HostSample>& samples, const HostSettings& settings,
                       std::vector<Suspect>& out) {
  const auto judged = [&](const HostSample& sample) {
    return sample.latencies >= std::max(settings.volume, 1U);
  };
  for (const HostSample& own : samples) {
    if (!judged(own) || own.p90 <= settings.slow_floor) {
      continue;
    }
    std::vector<double> peers;
    for (const HostSample& other : samples) {
      if (&other != &own && judged(other)) {
        peers.push_back(static_cast<double>(other.p90.count()));
      }
    }
    if (peers.empty()) {
      continue;
    }
    const double usual = median(peers);
    if (static_cast<double>(own.p90.count()) > settings.latency_ratio * usual) {
      out.push_back({.slot = own.slot,
                     .rule = "latency",
                     .severity = static_cast<double>(own.p90.count()),
                     .calls = own.calls,
                     .failures = own.failures,
                     .reason = Sentence()
                                   .text("p90 is ")
                                   .seconds(own.p90)
                                   .text(", the median of its peers' ")
                                   .seconds(base::Duration(static_cast<int64_t>(usual)))
                                   .str()});
    }
  }
}

double usual_share(const std::vector<HostSample>& samples, double before) {
  std::vector<double> shares;
  for (const HostSample& sample : samples) {
    if (sample.calls >= kUsualCalls) {
      shares.push_back(failing_share(sample));
    }
  }
  if (shares.empty()) {
    return before;
  }
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>((shares.size() - 1) / 2);
  std::ranges::nth_element(shares, middle);
  return *middle;
}

uint32_t row_that_ejects(uint32_t wanted, double usual) {
  if (!(usual > 0)) {
    return wanted;
  }
  const double by_chance =
      usual < 1 ? std::min(std::ceil(std::log(kRowChance) / std::log(usual)), kLongestRow)
                : kLongestRow;
  return std::max(wanted, static_cast<uint32_t>(by_chance));
}

size_t most_ejected(size_t hosts, double max_ejected) {
  if (hosts < 2 || !(max_ejected > 0)) {
    return 0;
  }
  // The little more keeps 0.3 · 10 at 3.
  const auto share = static_cast<size_t>(static_cast<double>(hosts) * max_ejected + 1e-9);
  return std::clamp<size_t>(share, 1, hosts - 1);
}

base::Duration ejection_time(uint32_t n, const HostSettings& settings, double uniform) {
  const double wanted = static_cast<double>(settings.eject_min.count()) * n;
  const double most = static_cast<double>(settings.eject_max.count());
  return base::Duration(static_cast<int64_t>(std::min(wanted, most) * (0.8 + 0.4 * uniform)));
}

}  // namespace spillway::resilience
