#pragma once

#include <vector>

#include "app/config/exchange_config.h"
#include "app/config/reader.h"
#include "resilience/settings.h"

namespace spillway::app {

/// Reads one entry of `dsps:`. Guard settings are inherited: `defaults` (top level `guards:`), the
/// DSP's `guard:`, its region's, its endpoint's.
void read_dsp(ConfigReader& reader, const resilience::SettingsPatch& defaults,
              exchange::DspConfig& out, ExpectedTraffic& expected);

/// The set of openrtb::MediaType named by texts; problems are noted at `key`.
[[nodiscard]] uint8_t read_media(ConfigReader& reader, std::string_view key, uint8_t fallback);

}  // namespace spillway::app
