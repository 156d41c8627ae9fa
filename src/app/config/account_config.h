#pragma once

#include <vector>

#include "app/config/reader.h"
#include "exchange/snapshot.h"

namespace spillway::app {

/// The sections `accounts` and `schain`. The default account is the first of `out`, whether or not
/// the file names it.
void read_accounts(ConfigReader& root, std::vector<exchange::Account>& out);

}  // namespace spillway::app
