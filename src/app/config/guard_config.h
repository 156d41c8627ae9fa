#pragma once

#include "app/config/reader.h"
#include "resilience/settings.h"

namespace spillway::app {

/// Reads the keys of one `guard:` mapping that are there. Does not finish the reader.
void read_guard(ConfigReader& reader, resilience::SettingsPatch& patch);

/// Reads the `classic:` mapping of one level, the settings of `rules: classic`. A level that has
/// one states it whole: what it does not name is the default, not what is inherited.
void read_classic(ConfigReader& reader, resilience::SettingsPatch& patch);

/// Reads the `hosts:` mapping of one level; taken whole like `classic`.
void read_hosts(ConfigReader& reader, resilience::SettingsPatch& patch);

/// What `patches` say over the defaults, later ones last.
[[nodiscard]] resilience::Settings flatten(
    std::initializer_list<const resilience::SettingsPatch*> patches);

}  // namespace spillway::app
