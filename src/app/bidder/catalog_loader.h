#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "adapters/catalog_source.h"
#include "app/bidder/loaded_catalog.h"
#include "base/rates.h"
#include "bidder/model.h"
#include "bidder/time_zone.h"

namespace spillway::app::bidding {

/// What came of one reading.
struct CatalogNews {
  std::shared_ptr<const LoadedCatalog> catalog;  ///< Null: nothing new, or it failed.
  std::string error;                             ///< Empty: it did not fail.
  std::chrono::nanoseconds took{};
};

/// Reads a catalog again and again, and compiles it, on a thread of its own. A reading whose
/// revision is the last one's is not compiled. What fails leaves everything as it is. A catalog
/// that nobody uses any more is freed here, at the next reading: that takes a tenth of a second for
/// a large one, which a worker must not spend.
///
/// Thread rule: refresh() from any thread; `tell` is called on the loader's own.
class CatalogLoader {
 public:
  /// Tables of the time zones that rows name.
  using ZonesOf = std::function<std::vector<bidder::TimeZone>(const bidder::CatalogRows&)>;
  using Tell = std::function<void(CatalogNews)>;

  CatalogLoader(std::unique_ptr<adapters::CatalogSource> source, std::chrono::nanoseconds every,
                base::Rates rates, ZonesOf zones_of, Tell tell);
  CatalogLoader(const CatalogLoader&) = delete;
  CatalogLoader& operator=(const CatalogLoader&) = delete;
  ~CatalogLoader();  ///< Waits for a reading under way.

  /// Begins; the first reading is at once.
  void start();

  /// Reads now, and compiles whatever the revision, with these rates from here on.
  void refresh(base::Rates rates);

 private:
  void run();
  CatalogNews read_once(bool whatever);
  void free_unused();

  std::unique_ptr<adapters::CatalogSource> source_;
  std::chrono::nanoseconds every_;
  ZonesOf zones_of_;
  Tell tell_;
  uint64_t version_ = 0;
  uint64_t revision_ = 0;
  std::vector<std::shared_ptr<const LoadedCatalog>> given_;  ///< Those that others may still use.

  std::mutex mutex_;
  std::condition_variable woken_;
  base::Rates rates_;
  bool wanted_ = true;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace spillway::app::bidding
