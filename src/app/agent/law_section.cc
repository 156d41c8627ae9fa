#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "app/agent/sections.h"
#include "app/config/reader.h"
#include "capacity/law_settings.h"

namespace spillway::app::agent {
namespace {

using namespace std::chrono_literals;

void read_weights(ConfigReader& reader, capacity::LawSettings& out) {
  reader.read("static_weight", out.static_weight, 1.0, 256.0);
  reader.read("mean_weight", out.mean_weight, 10.0, 200.0);
  reader.read("top_weight", out.top_weight, 10.0, 256.0);
  reader.read("min_weight", out.min_weight, 1.0, 200.0);
  reader.read("max_weight", out.max_weight, 10.0, 256.0);
  reader.read("smallest_weight", out.smallest_weight, 1.0, 100.0);
  reader.read("max_step", out.max_step, 0.01, 10.0);
  reader.read("failing_step", out.failing_step, 0.01, 10.0);
  reader.read("prior_band", out.prior_band, 1.1, 100.0);
  reader.read("ramp", out.ramp, 0s, 10min);
  reader.read("ramp_from", out.ramp_from, 0.01, 1.0);
}

void read_estimate(ConfigReader& reader, capacity::LawSettings& out) {
  reader.read("smoothing", out.smoothing, 0.01, 1.0);
  reader.read("boost", out.boost, 0.01, 1.0);
  reader.read("boost_error", out.boost_error, 0.01, 1.0);
  reader.read("min_utilization", out.min_utilization, 0.0, 0.5);
  reader.read("min_successes_per_second", out.min_successes_per_second, 0.0, 1e6);
  reader.read("warm_up", out.warm_up, 0s, 10min);
  reader.read("class_band", out.class_band, 1.1, 100.0);
  reader.read("failure_penalty", out.failure_penalty, 0.0, 100.0);
  reader.read("failing_share", out.failing_share, 0.05, 1.0);
  reader.read("lie_utilization", out.lie_utilization, 0.0, 1.0);
  reader.read("lie_throttled_share", out.lie_throttled_share, 0.01, 1.0);
  reader.read("lie_pressure", out.lie_pressure, 0.01, 1.0);
  reader.read("lie_latency_ratio", out.lie_latency_ratio, 1.5, 100.0);
  reader.read("stuck_after", out.stuck_after, 3, 1'000);
}

}  // namespace

void read_law(ConfigReader reader, capacity::LawSettings& out) {
  using capacity::LawKind;
  constexpr std::array kKinds{LawKind::kEqual,
                              LawKind::kStatic,
                              LawKind::kSetpoint,
                              LawKind::kZoneMeanAdditive,
                              LawKind::kZoneMeanMultiplicative,
                              LawKind::kCapacity};
  std::vector<std::string_view> names;
  names.reserve(kKinds.size());
  for (const auto kind : kKinds) {
    names.push_back(to_string(kind));
  }
  auto kind = static_cast<size_t>(out.law);
  reader.read_choice("kind", names, kind);
  out.law = kKinds.at(kind);
  reader.read("period", out.period, 100ms, 10min);
  reader.read("own_delay", out.own_delay, 0s, 10min);
  reader.read("mean_delay", out.mean_delay, 0s, 10min);
  reader.read("gain", out.gain, 0.001, 2.0);
  reader.read("allow_unsafe_gain", out.allow_unsafe_gain);
  reader.read("setpoint", out.setpoint, 0.05, 0.95);
  read_weights(reader, out);
  read_estimate(reader, out);
  reader.read("remember_mean", out.remember_mean, 0s, 1h);
  reader.read("latency_equal", out.latency_equal);
  reader.read("latency_cores", out.latency_cores, 1.0, 1'024.0);
  reader.read("latency_utilization", out.latency_utilization, 0.1, 0.99);
  for (const auto& problem : capacity::check(out)) {
    reader.problem(problem.key, problem.what);
  }
  reader.finish();
}

}  // namespace spillway::app::agent
