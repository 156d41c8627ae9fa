#include "app/bidder/catalog_loader.h"

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/catalog_source.h"
#include "app/bidder/loaded_catalog.h"
#include "app/serving/wall_clock.h"
#include "base/rates.h"

namespace spillway::app::bidding {

CatalogLoader::CatalogLoader(std::unique_ptr<adapters::CatalogSource> source,
                             std::chrono::nanoseconds every, base::Rates rates, ZonesOf zones_of,
                             Tell tell)
    : source_(std::move(source)),
      every_(every),
      zones_of_(std::move(zones_of)),
      tell_(std::move(tell)),
      rates_(std::move(rates)) {}

CatalogLoader::~CatalogLoader() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void CatalogLoader::start() {
  thread_ = std::thread([this] { run(); });
}

void CatalogLoader::refresh(base::Rates rates) {
  {
    const std::lock_guard lock(mutex_);
    rates_ = std::move(rates);
    wanted_ = true;
  }
  woken_.notify_all();
}

void CatalogLoader::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const bool whatever = std::exchange(wanted_, false);
    lock.unlock();
    free_unused();
    tell_(read_once(whatever));
    lock.lock();
    woken_.wait_for(lock, every_, [this] { return ending_ || wanted_; });
  }
}

void CatalogLoader::free_unused() {
  // What this alone has, nobody can take hold of again. The newest is not told yet, or in use.
  std::erase_if(given_, [](const auto& catalog) { return catalog.use_count() == 1; });
}

CatalogNews CatalogLoader::read_once(bool whatever) {
  const auto began = std::chrono::steady_clock::now();
  CatalogNews news;
  try {
    auto reading = source_->load();
    if (!reading) {
      news.error = std::move(reading.error());
    } else if (reading->revision == 0) {
      news.error = source_->name() + ": holds no catalog: nobody has written one yet";
    } else if (whatever || reading->revision != revision_) {
      revision_ = reading->revision;
      base::Rates rates;
      {
        const std::lock_guard lock(mutex_);
        rates = rates_;
      }
      news.catalog = std::make_shared<const LoadedCatalog>(compile(
          reading->rows, zones_of_(reading->rows), ++version_, rates, wall_clock_ms() / 1'000));
      given_.push_back(news.catalog);
    }
  } catch (const std::exception& error) {
    news.error = source_->name() + ": " + error.what();
  }
  news.took = std::chrono::steady_clock::now() - began;
  return news;
}

}  // namespace spillway::app::bidding
