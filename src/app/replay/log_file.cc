#include "app/replay/log_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/config_file.h"
#include "app/config/exchange_config.h"
#include "app/config/reader.h"
#include "base/result.h"
#include "exchange/record.h"
#include "exchange/snapshot.h"

namespace spillway::app {
namespace {

using Snapshots = std::map<uint64_t, std::unique_ptr<ExchangeConfig>>;

void note(LogDamage& damage, uint64_t& count, std::string sentence) {
  ++count;
  if (damage.first.empty()) {
    damage.first = std::move(sentence);
  }
}

void read_snapshot(const exchange::RecordReader::Entry& entry, Snapshots& snapshots,
                   LogDamage& damage) {
  std::vector<ConfigProblem> problems;
  auto config =
      std::make_unique<ExchangeConfig>(read_exchange_config(entry.snapshot_text, problems));
  if (!problems.empty()) {
    note(damage, damage.unreadable_snapshots,
         fmt::format("the configuration {:016x} in the log is refused: {}", entry.snapshot_hash,
                     to_string(problems.front(), "log")));
    return;
  }
  snapshots[entry.snapshot_hash] = std::move(config);
}

}  // namespace

base::Result<std::string, std::string> read_log(const std::string& path) {
  constexpr size_t kLimitBytes = size_t{4} << 30;
  return read_whole_file(path, kLimitBytes);
}

LogDamage for_each_auction(
    std::string_view log,
    const std::function<bool(const exchange::Snapshot&, const exchange::Record&)>& use) {
  LogDamage damage;
  Snapshots snapshots;
  exchange::RecordReader reader(log);
  while (!reader.at_end()) {
    const auto entry = reader.next();
    if (!entry) {
      note(damage, damage.broken_entries,
           fmt::format("an entry cannot be read: {}", exchange::to_string(entry.error())));
      continue;
    }
    if (entry->is_snapshot) {
      read_snapshot(*entry, snapshots, damage);
      continue;
    }
    const auto found = snapshots.find(entry->record.snapshot_hash);
    if (found == snapshots.end()) {
      note(damage, damage.without_snapshot,
           fmt::format("the configuration {:016x} of an auction is not in the log",
                       entry->record.snapshot_hash));
      continue;
    }
    if (!use(found->second->snapshot, entry->record)) {
      break;
    }
  }
  return damage;
}

}  // namespace spillway::app
