#include "app/config/guard_config.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "app/config/reader.h"
#include "base/time.h"
#include "resilience/classic_rules.h"
#include "resilience/host_settings.h"
#include "resilience/limiter.h"
#include "resilience/settings.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;
using resilience::Settings;

constexpr base::Duration kLongest = 5min;

void read_part(ConfigReader& reader, std::string_view key, std::optional<base::Duration>& out,
               base::Duration fallback, base::Duration low, base::Duration high) {
  base::Duration value = fallback;
  reader.read(key, value, low, high);
  if (reader.has(key)) {
    out = value;
  }
}

void read_part(ConfigReader& reader, std::string_view key, std::optional<uint32_t>& out,
               uint32_t fallback, uint32_t low, uint32_t high) {
  uint32_t value = fallback;
  reader.read(key, value, low, high);
  if (reader.has(key)) {
    out = value;
  }
}

}  // namespace

void read_guard(ConfigReader& reader, resilience::SettingsPatch& patch) {
  const Settings usual;  // What holds when no level says otherwise.
  auto mode = static_cast<size_t>(usual.enforcement);
  reader.read_choice("mode", {"enforce", "shadow", "disabled"}, mode);
  if (reader.has("mode")) {
    patch.enforcement = static_cast<Settings::Enforcement>(mode);
  }
  auto rules = static_cast<size_t>(usual.rules);
  reader.read_choice("rules", {"spillway", "classic"}, rules);
  if (reader.has("rules")) {
    patch.rules = static_cast<Settings::Rules>(rules);
  }
  read_part(reader, "open_min", patch.open_min, usual.open_min, 100ms, kLongest);
  read_part(reader, "open_max", patch.open_max, usual.open_max, 100ms, kLongest);
  read_part(reader, "ramp", patch.ramp, usual.ramp, 1s, kLongest);
  read_part(reader, "slow_floor", patch.slow_floor, usual.slow_floor, 1ms, 10s);
  read_part(reader, "slow_ceiling", patch.slow_ceiling, usual.slow_ceiling, 1ms, 60s);
  read_part(reader, "max_in_flight", patch.max_in_flight, usual.max_in_flight, 0, 100'000);
  auto limiter = static_cast<size_t>(usual.limiter);
  reader.read_choice("limiter", {"none", "latency", "vegas", "gradient2", "aimd"}, limiter);
  if (reader.has("limiter")) {
    patch.limiter = static_cast<resilience::LimiterSettings::Algorithm>(limiter);
  }
  read_part(reader, "limit_min", patch.limit_min, usual.limit_min, 1, 100'000);
  read_part(reader, "limit_initial", patch.limit_initial, usual.limit_initial, 0, 100'000);
  read_part(reader, "qps", patch.qps, usual.qps, 0, 10'000'000);
  read_part(reader, "probes_good", patch.probes_good, usual.probes_good, 1, 100);
  read_part(reader, "probes_of", patch.probes_of, usual.probes_of, 1, 100);
  read_part(reader, "probes_bad", patch.probes_bad, usual.probes_bad, 1, 100);
}

void read_classic(ConfigReader& reader, resilience::SettingsPatch& patch) {
  resilience::ClassicRules rules;
  ConfigReader section = reader.section("classic");
  auto window = static_cast<size_t>(rules.window);
  section.read_choice("window", {"count", "time"}, window);
  rules.window = static_cast<resilience::ClassicRules::Window>(window);
  const bool time = rules.window == resilience::ClassicRules::Window::kTime;
  section.read("size", rules.size, time ? 2 : 1, time ? 3'600 : 10'000);
  section.read("min_calls", rules.min_calls, 1, 10'000);
  section.read("failure_rate", rules.failure_rate, 0.001, 1.0);
  section.read("slow_rate", rules.slow_rate, 0.001, 1.0);
  section.read("slow", rules.slow, 1ms, 10min);
  section.read("p99_ceiling", rules.p99_ceiling, 0ms, 10min);
  section.read("half_open_calls", rules.half_open_calls, 1, 15);
  section.read("open", rules.open, 100ms, kLongest);
  section.read("open_growth", rules.open_growth, 1.0, 10.0);
  section.read("open_jitter", rules.open_jitter, 0.0, 0.9);
  section.read("open_cap", rules.open_cap, 100ms, 1h);
  section.finish();
  if (reader.has("classic")) {
    patch.classic = rules;
  }
}

void read_hosts(ConfigReader& reader, resilience::SettingsPatch& patch) {
  resilience::HostSettings hosts;
  ConfigReader section = reader.section("hosts");
  section.read("consecutive_local", hosts.consecutive_local, 1, 1'000);
  section.read("consecutive_server_errors", hosts.consecutive_server_errors, 1, 1'000);
  section.read("interval", hosts.interval, 1s, 5min);
  section.read("volume", hosts.volume, 10, 100'000);
  section.read("min_failures", hosts.min_failures, 1, 10'000);
  section.read("success_floor", hosts.success_floor, 0.0, 1.0);
  section.read("deviations", hosts.deviations, 0.0, 10.0);
  section.read("latency_ratio", hosts.latency_ratio, 1.5, 100.0);
  section.read("slow_floor", hosts.slow_floor, 1ms, 10s);
  section.read("eject_min", hosts.eject_min, 100ms, 5min);
  section.read("eject_max", hosts.eject_max, 100ms, 1h);
  section.read("max_ejected", hosts.max_ejected, 0.0, 1.0);
  section.read("panic", hosts.panic, 0.0, 1.0);
  section.read("warm", hosts.warm, 100ms, 5min);
  section.read("warm_from", hosts.warm_from, 0.01, 1.0);
  section.finish();
  if (reader.has("hosts")) {
    patch.hosts = hosts;
  }
}

resilience::Settings flatten(std::initializer_list<const resilience::SettingsPatch*> patches) {
  resilience::Settings settings;
  for (const auto* patch : patches) {
    settings = resilience::apply(settings, *patch);
  }
  return settings;
}

}  // namespace spillway::app
