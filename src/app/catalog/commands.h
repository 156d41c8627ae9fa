#pragma once

#include <cstdint>
#include <string>

#include "adapters/catalog_source.h"

namespace spillway::app::catalog {

/// How the commands end.
inline constexpr int kFine = 0;
inline constexpr int kProblems = 1;    ///< The catalog is not as it must be.
inline constexpr int kUnreadable = 3;  ///< A place could not be read or written.

/// What all commands share.
struct Options {
  bool json = false;
  std::string from;
  std::string to;
  adapters::StoreSettings store;
  int64_t now_s = 0;  ///< Unix seconds.
};

struct GenerateOptions {
  std::string workload;  ///< "w1" or "w2".
  uint64_t seed = 0;
  uint32_t campaigns = 0;
  int64_t today_s = 0;
};

struct UserOptions {
  std::string workload;
  uint64_t seed = 0;
  uint64_t first = 1;
  uint64_t count = 0;
  /// Not empty: as commands of Redis's protocol, under the keys that the bidder reads, of users
  /// whose ids are of this space ("buyeruid", or the name of an exchange).
  std::string redis_source;
};

/// The commands: each returns its exit status, having said what is to be said.
int check_catalog(const Options& options);
/// Checks what stands at `from`; only a catalog without problems gets to `to`.
int import_catalog(const Options& options);
/// Writes what stands at `from` to `to` whatever is wrong with it.
int export_catalog(const Options& options);
int migrate_catalog(const Options& options);
int generate_catalog(const Options& options, const GenerateOptions& what);
int write_users(const Options& options, const UserOptions& what);

}  // namespace spillway::app::catalog
