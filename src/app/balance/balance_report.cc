#include "app/balance/balance_report.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/time.h"
#include "capacity/forecast.h"
#include "capacity/law_settings.h"
#include "capacity/replay.h"
#include "capacity/sample.h"

namespace spillway::app {

namespace {

constexpr double kHoursPerMonth = 730;

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string evenness_json(const capacity::Evenness& of, bool predicted) {
  std::string json = fmt::format(
      R"({{"spread_10s":{:.3f},"spread_10s_p95":{:.3f},"spread_60s":{:.3f},"spread_60s_p95":{:.3f},)"
      R"("mean_utilization":{:.4f},"fullest":{:.4f},"instances_needed":{})",
      of.spread_10s, of.spread_10s_p95, of.spread_60s, of.spread_60s_p95, of.mean_utilization,
      of.fullest, instances(of.instances_needed));
  if (predicted) {
    fmt::format_to(std::back_inserter(json), R"(,"lost_share":{:.6f})", of.lost_share);
  }
  return json + "}";
}

}  // namespace

uint64_t instances(double needed) {
  return needed > 0 ? static_cast<uint64_t>(std::ceil(needed - 1e-9)) : 0;
}

double saved_per_month(const BalanceReport& report) {
  const auto before = static_cast<double>(instances(report.forecast.observed.instances_needed));
  const auto after = static_cast<double>(instances(report.forecast.predicted.instances_needed));
  return (before - after) * report.price_per_hour * kHoursPerMonth;
}

std::string report_text(const BalanceReport& report) {
  const auto& forecast = report.forecast;
  const auto& seen = forecast.observed;
  const auto& told = forecast.predicted;
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "recorded: {} servers, {} zones, {:.0f} s, {} samples", forecast.servers,
                 forecast.zones, seconds_of(forecast.length), report.samples);
  if (report.bad_lines + forecast.lines_left_out > 0) {
    fmt::format_to(out, ", {} lines left out", report.bad_lines + forecast.lines_left_out);
  }
  fmt::format_to(out, "\n\n{:<34}{:>12}{:>26}\n", "", "observed",
                 capacity::to_string(report.settings.law.law));
  const auto row = [&](std::string_view name, double before, double after) {
    fmt::format_to(out, "{:<34}{:>12.1f}{:>26.1f}\n", name, before, after);
  };
  row("spread, 10 s means, points", seen.spread_10s, told.spread_10s);
  row("  the same in the worst 5 %", seen.spread_10s_p95, told.spread_10s_p95);
  row("spread, 60 s means, points", seen.spread_60s, told.spread_60s);
  row("  the same in the worst 5 %", seen.spread_60s_p95, told.spread_60s_p95);
  row("mean CPU, %", 100 * seen.mean_utilization, 100 * told.mean_utilization);
  row("fullest server (p95), %", 100 * seen.fullest, 100 * told.fullest);
  fmt::format_to(out, "{:<34}{:>12}{:>25.2f}%\n", "beyond what servers can", "-",
                 100 * told.lost_share);
  fmt::format_to(out, "{:<34}{:>12}{:>26}\n",
                 fmt::format("instances for {:.0f} % at most", 100 * report.settings.target),
                 instances(seen.instances_needed), instances(told.instances_needed));
  if (report.price_per_hour > 0) {
    fmt::format_to(out, "{:<34}{:>12}{:>26.2f}\n",
                   fmt::format("saved a month at {} an hour", report.price_per_hour), "",
                   saved_per_month(report));
  }
  return text;
}

std::string report_json(const BalanceReport& report) {
  const auto& forecast = report.forecast;
  std::string json = fmt::format(
      R"({{"law":"{}","target":{},"servers":{},"zones":{},"length_s":{:.3f},"samples":{},)"
      R"("lines_left_out":{},"instances":{:.2f},"observed":{},"predicted":{})",
      capacity::to_string(report.settings.law.law), report.settings.target, forecast.servers,
      forecast.zones, seconds_of(forecast.length), report.samples,
      report.bad_lines + forecast.lines_left_out, forecast.instances,
      evenness_json(forecast.observed, false), evenness_json(forecast.predicted, true));
  if (report.price_per_hour > 0) {
    fmt::format_to(std::back_inserter(json), R"(,"saved_per_month":{:.2f})",
                   saved_per_month(report));
  }
  return json + "}\n";
}

Verified verify(std::span<const capacity::Sample> recorded,
                const capacity::ForecastSettings& settings) {
  capacity::Replay replay({.law = settings.law,
                           .publish_delay = settings.publish_delay,
                           .view = {.stale_after = 3 * settings.law.period + settings.publish_delay,
                                    .max_servers = settings.max_servers}});
  Verified verified;
  for (const capacity::Sample& sample : recorded) {
    const auto* decision = replay.on_sample(sample);
    if (decision == nullptr) {
      continue;
    }
    ++verified.all;
    if (decision->weight == sample.weight && decision->capacity == sample.capacity) {
      ++verified.same;
    } else if (verified.first_other.empty()) {
      verified.first_other = fmt::format("{} sequence {}: recorded {}, decided {}", sample.id,
                                         sample.sequence, sample.weight, decision->weight);
    }
  }
  return verified;
}

}  // namespace spillway::app
