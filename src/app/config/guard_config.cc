#include "app/config/guard_config.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "app/config/reader.h"
#include "base/time.h"
#include "resilience/settings.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;
using resilience::Settings;

constexpr base::Duration kLongest = 5min;

void read_part(ConfigReader& reader, std::string_view key, std::optional<base::Duration>& out,
               base::Duration low, base::Duration high) {
  base::Duration value = low;
  reader.read(key, value, low, high);
  if (reader.has(key)) {
    out = value;
  }
}

void read_part(ConfigReader& reader, std::string_view key, std::optional<uint32_t>& out,
               uint32_t low, uint32_t high) {
  uint32_t value = low;
  reader.read(key, value, low, high);
  if (reader.has(key)) {
    out = value;
  }
}

}  // namespace

void read_guard(ConfigReader& reader, resilience::SettingsPatch& patch) {
  size_t mode = 0;
  reader.read_choice("mode", {"enforce", "shadow", "disabled"}, mode);
  if (reader.has("mode")) {
    patch.enforcement = static_cast<Settings::Enforcement>(mode);
  }
  read_part(reader, "open_min", patch.open_min, 100ms, kLongest);
  read_part(reader, "open_max", patch.open_max, 100ms, kLongest);
  read_part(reader, "ramp", patch.ramp, 1s, kLongest);
  read_part(reader, "slow_floor", patch.slow_floor, 1ms, 10s);
  read_part(reader, "slow_ceiling", patch.slow_ceiling, 1ms, 60s);
  read_part(reader, "max_in_flight", patch.max_in_flight, 0, 100'000);
  read_part(reader, "qps", patch.qps, 0, 10'000'000);
  read_part(reader, "probes_good", patch.probes_good, 1, 100);
  read_part(reader, "probes_of", patch.probes_of, 1, 100);
  read_part(reader, "probes_bad", patch.probes_bad, 1, 100);
}

resilience::Settings flatten(std::initializer_list<const resilience::SettingsPatch*> patches) {
  resilience::Settings settings;
  for (const auto* patch : patches) {
    settings = resilience::apply(settings, *patch);
  }
  return settings;
}

}  // namespace spillway::app
