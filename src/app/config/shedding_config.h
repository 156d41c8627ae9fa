#pragma once

#include "app/config/reader.h"
#include "app/config/server_config.h"

namespace spillway::app {

/// The section `shedding`.
void read_shedding(ConfigReader reader, Shedding& out);

}  // namespace spillway::app
