#pragma once

#include "app/config/exchange_config.h"
#include "app/config/reader.h"

namespace spillway::app {

/// The section `shedding`.
void read_shedding(ConfigReader reader, Shedding& out);

}  // namespace spillway::app
