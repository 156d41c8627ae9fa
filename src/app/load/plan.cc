#include "app/load/plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>

#include "app/load/generator.h"
#include "workload/arrivals.h"

namespace spillway::app {

namespace {

/// Descriptors that are no connection: reactors, timers, output, files.
constexpr size_t kOtherDescriptors = 64;
constexpr size_t kConnectionsMin = 64;

double in_flight_at_worst(const LoadSettings& settings) {
  return settings.arrivals.profile.peak_rate() *
         std::chrono::duration<double>(settings.timeout).count();
}

}  // namespace

LoadMeans LoadMeans::of_this_machine() {
  LoadMeans means;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    means.descriptors = static_cast<size_t>(limit.rlim_cur);
  }
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  size_t low = 0;
  size_t high = 0;
  if (range >> low >> high && high > low) {
    means.ports = high - low;
  }
  means.processors = std::max(1U, std::thread::hardware_concurrency());
  return means;
}

size_t connections_for(const LoadSettings& settings) {
  // Twice: after a hold-up of ours of up to a timeout what was due meanwhile goes out at once.
  const double needed = std::ceil(2 * in_flight_at_worst(settings));
  return std::max(kConnectionsMin,
                  static_cast<size_t>(std::min(needed, static_cast<double>(kConnectionsMax))));
}

LoadPlan plan_of(const LoadSettings& settings, size_t workers, const LoadMeans& means) {
  const double peak = settings.arrivals.profile.peak_rate();
  const size_t by_files =
      means.descriptors > 2 * kOtherDescriptors ? means.descriptors - kOtherDescriptors : 1;
  const size_t by_ports = means.ports * settings.targets.size();
  LoadPlan plan;
  plan.connections_needed = static_cast<size_t>(std::ceil(in_flight_at_worst(settings)));
  plan.connections_had = std::min({settings.connections, by_files, by_ports});
  plan.workers_needed = static_cast<size_t>(std::ceil(peak / kWorkerRateMax));
  plan.workers_had = std::min(workers, means.processors);
  plan.text = fmt::format(
      "{} arrivals, {:.1f}/s at most; needs up to {} connections if every answer takes the whole "
      "timeout, has {}; needs {} worker(s) at best, has {}",
      workload::Arrivals::expected(settings.arrivals), peak, plan.connections_needed,
      plan.connections_had, plan.workers_needed, plan.workers_had);
  if (plan.connections_needed > plan.connections_had) {
    const char* what = "--connections";
    if (plan.connections_had == by_files) {
      what = "the limit of open files";
    } else if (plan.connections_had == by_ports) {
      what = "the ephemeral ports";
    }
    plan.refusal =
        fmt::format("cannot carry it: {:.0f}/s for {} ms are {} connections, {} allows {}", peak,
                    std::chrono::duration_cast<std::chrono::milliseconds>(settings.timeout).count(),
                    plan.connections_needed, what, plan.connections_had);
  } else if (plan.workers_needed > plan.workers_had) {
    plan.refusal = fmt::format("cannot carry it: {:.0f}/s take {} workers at best, there are {}",
                               peak, plan.workers_needed, plan.workers_had);
  }
  return plan;
}

}  // namespace spillway::app
