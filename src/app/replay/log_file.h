#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "app/config/exchange_config.h"
#include "base/result.h"
#include "exchange/record.h"

namespace spillway::app {

/// What was found in an auction log besides its auctions.
struct LogDamage {
  uint64_t broken_entries = 0;        ///< Not readable: truncated, changed or of another version.
  uint64_t without_snapshot = 0;      ///< Auctions whose configuration is not in the log.
  uint64_t unreadable_snapshots = 0;  ///< Configurations that this version refuses.
  std::string first;                  ///< One sentence about the first of them; empty when none.

  [[nodiscard]] bool any() const {
    return broken_entries + without_snapshot + unreadable_snapshots > 0;
  }
};

/// The bytes of an auction log, at most 4 GiB; the error is one sentence with the path.
[[nodiscard]] base::Result<std::string, std::string> read_log(const std::string& path);

/// Calls `use` with every auction of `log` and the configuration it ran under, in order, until it
/// says false. Each configuration is read once.
LogDamage for_each_auction(
    std::string_view log,
    const std::function<bool(const exchange::Snapshot&, const exchange::Record&)>& use);

}  // namespace spillway::app
