#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bidder/model.h"

namespace spillway::adapters {

/// What went wrong with a store, one sentence with its place: "sqlite:/var/lib/c.db: campaign 17:
/// status: \"actve\" is none of active, paused, archived". Passwords are left out.
using StoreError = std::string;

template <typename T>
using StoreResult = base::Result<T, StoreError>;

/// One consistent reading of a store: every row was committed when the reading began, none later.
struct CatalogReading {
  bidder::CatalogRows rows;  ///< In order (see bidder::put_in_order()).
  /// Of the rows' contents: equal readings have equal ones, whoever changed the rows between them
  /// and by what means. 0: there are no rows.
  uint64_t revision = 0;
  uint64_t writes = 0;    ///< How often replace() has written it.
  int64_t written_s = 0;  ///< Unix seconds of the last time.
};

/// Where a catalog is read from. Blocks: only threads that serve no requests may call it, one at a
/// time. Every reading opens a connection of its own, so a server that was restarted or failed over
/// is found again without more ado.
class CatalogSource {
 public:
  CatalogSource() = default;
  CatalogSource(const CatalogSource&) = delete;
  CatalogSource& operator=(const CatalogSource&) = delete;
  virtual ~CatalogSource() = default;

  /// For people: "sqlite:FILE", "postgres://host:port/name".
  [[nodiscard]] virtual const std::string& name() const = 0;

  /// Everything, or why not. Ends within the store's patience.
  virtual StoreResult<CatalogReading> load() = 0;
};

/// How far a long piece of work is: `done` of `total` steps, total > 0.
using OnProgress = std::function<void(size_t done, size_t total)>;

/// A source that can be written: what `spillway catalog` needs beside reading.
class CatalogStore : public CatalogSource {
 public:
  /// Brings the schema up to this program's, in one transaction. Returns how many migrations ran (0
  /// when it was there). Refused when the store's schema is newer than this program.
  virtual StoreResult<size_t> migrate() = 0;

  /// Replaces the whole catalog in one transaction; readers see the old one until it ends. `now_s`
  /// (Unix seconds) is recorded as the time of writing. Requires a migrated schema.
  virtual StoreResult<void> replace(const bidder::CatalogRows& rows, int64_t now_s,
                                    const OnProgress& on_progress) = 0;
};

struct StoreSettings {
  /// Longest wait for a connection and for each answer.
  std::chrono::milliseconds patience = std::chrono::seconds(30);
};

/// The store that `address` names: "sqlite:FILE", "postgres://…" or "postgresql://…" (libpq's
/// addresses). Opens nothing yet. Error: an address of neither kind.
StoreResult<std::unique_ptr<CatalogStore>> open_catalog(std::string_view address,
                                                        StoreSettings settings = {});

}  // namespace spillway::adapters
