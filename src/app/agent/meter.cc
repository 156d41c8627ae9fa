#include "app/agent/meter.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "adapters/cpu_reader.h"
#include "adapters/load_text.h"
#include "base/time.h"
#include "capacity/reading.h"

namespace spillway::app::agent {
namespace {

/// What a server found at work has served for, as far as anybody knows.
constexpr base::Duration kLong = std::chrono::hours(24);

}  // namespace

capacity::Reading Meter::read(base::Instant now, const Cpu& cpu, const std::optional<Load>& load) {
  capacity::Reading out;
  out.counts_successes = counts_requests_;
  take_cpu(cpu, out);
  if (load) {
    take_load(now, *load, out);
  } else if (counts_requests_) {
    out.sensor_alive = false;
  }
  if (!counts_requests_ && !serving_since_) {
    found_serving_ = true;
    serving_since_ = now - kLong;
  }
  out.serving_for = serving_since_ ? now - *serving_since_ : base::Duration::zero();
  return out;
}

void Meter::take_cpu(const Cpu& cpu, capacity::Reading& out) {
  if (!cpu) {
    ++counts_.cpu_errors.at(static_cast<size_t>(cpu.error()));
    out.sensor_alive = false;
    return;
  }
  last_cpu_ = *cpu;
  out.utilization = std::min(1.0, cpu->utilization);
  out.throttled_share = std::min(1.0, cpu->throttled_ratio);
  out.pressure = cpu->stalled_ratio;
  out.window = cpu->length;
}

void Meter::take_load(base::Instant now, const Load& load, capacity::Reading& out) {
  if (!load) {
    ++counts_.load_errors.at(static_cast<size_t>(load.error()));
    out.sensor_alive = false;
    is_quiet_ = false;
    return;
  }
  const auto before = last_load_;
  const double seconds = std::chrono::duration<double>(now - load_at_).count();
  last_load_ = *load;
  load_at_ = now;
  if (!before) {
    found_serving_ = load->successes > 0;
    serving_since_ = found_serving_ ? now - kLong : now;
    out.window = base::Duration::zero();
    return;
  }
  const bool backwards = load->successes < before->successes || load->failures < before->failures ||
                         load->requests < before->requests;
  if (backwards) {
    ++counts_.restarts;
    serving_since_ = now;
  }
  if (backwards || seconds <= 0) {
    out.window = base::Duration::zero();
    is_quiet_ = false;
    return;
  }
  out.successes_per_second = (load->successes - before->successes) / seconds;
  out.failures_per_second = (load->failures - before->failures) / seconds;
  out.requests_per_second = (load->requests - before->requests) / seconds;
  out.p95_ms = load->p95_ms;
  is_quiet_ = load->in_flight == 0 && load->requests == before->requests;
}

}  // namespace spillway::app::agent
