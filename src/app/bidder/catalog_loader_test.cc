#include "app/bidder/catalog_loader.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/catalog_source.h"
#include "app/bidder/loaded_catalog.h"
#include "base/rates.h"
#include "bidder/generate/catalogs.h"
#include "bidder/model.h"
#include "bidder/time_zone.h"

namespace spillway::app::bidding {
namespace {

using namespace std::chrono_literals;

/// A source whose next readings the test decides.
class ScriptedSource final : public adapters::CatalogSource {
 public:
  [[nodiscard]] const std::string& name() const override { return name_; }

  adapters::StoreResult<adapters::CatalogReading> load() override {
    const std::lock_guard lock(mutex_);
    return next_;
  }

  void answer(adapters::StoreResult<adapters::CatalogReading> next) {
    const std::lock_guard lock(mutex_);
    next_ = std::move(next);
  }

 private:
  std::string name_ = "script";
  std::mutex mutex_;
  adapters::StoreResult<adapters::CatalogReading> next_ = std::unexpected("nothing yet");
};

/// What a loader told, in order.
class News {
 public:
  void add(CatalogNews news) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(news));
    more_.notify_all();
  }

  CatalogNews next() {
    std::unique_lock lock(mutex_);
    if (!more_.wait_for(lock, 30s, [this] { return !all_.empty(); })) {
      ADD_FAILURE() << "no news";
      return {};
    }
    CatalogNews news = std::move(all_.front());
    all_.pop_front();
    return news;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<CatalogNews> all_;
};

class CatalogLoaderTest : public ::testing::Test {
 protected:
  void start(std::chrono::nanoseconds every) {
    auto source = std::make_unique<ScriptedSource>();
    source_ = source.get();
    source_->answer(reading(1));
    loader_ = std::make_unique<CatalogLoader>(
        std::move(source), every, base::Rates{},
        [](const bidder::CatalogRows&) { return std::vector<bidder::TimeZone>(); },
        [this](CatalogNews news) { news_.add(std::move(news)); });
    loader_->start();
  }

  static adapters::CatalogReading reading(uint64_t revision) {
    return {.rows = bidder::generate::parity_catalog({.seed = revision, .campaigns = 20}),
            .revision = revision};
  }

  News news_;
  ScriptedSource* source_ = nullptr;
  std::unique_ptr<CatalogLoader> loader_;
};

TEST_F(CatalogLoaderTest, ACatalogIsReadAtOnceAndOnDemand) {
  start(1h);
  const CatalogNews first = news_.next();
  ASSERT_NE(first.catalog, nullptr) << first.error;
  EXPECT_GT(first.catalog->catalog.items().size(), 0U);
  source_->answer(reading(2));
  loader_->refresh({});
  const CatalogNews second = news_.next();
  ASSERT_NE(second.catalog, nullptr) << second.error;
  EXPECT_NE(second.catalog->catalog.version(), first.catalog->catalog.version());
}

TEST_F(CatalogLoaderTest, ItIsReadAgainByItselfAndCompiledOnlyWhenItChanged) {
  start(1ms);
  ASSERT_NE(news_.next().catalog, nullptr);
  const CatalogNews same = news_.next();
  EXPECT_EQ(same.catalog, nullptr);
  EXPECT_EQ(same.error, "");
  source_->answer(reading(2));
  CatalogNews changed = news_.next();
  while (changed.catalog == nullptr && changed.error.empty()) {
    changed = news_.next();  // Readings that had begun before.
  }
  EXPECT_NE(changed.catalog, nullptr) << changed.error;
}

TEST_F(CatalogLoaderTest, AReadingThatFailsSaysWhyAndGivesNothing) {
  start(1h);
  ASSERT_NE(news_.next().catalog, nullptr);
  source_->answer(std::unexpected("script: connection refused"));
  loader_->refresh({});
  const CatalogNews failed = news_.next();
  EXPECT_EQ(failed.catalog, nullptr);
  EXPECT_EQ(failed.error, "script: connection refused");
  source_->answer(reading(1));
  loader_->refresh({});
  EXPECT_NE(news_.next().catalog, nullptr);
}

// A worker that gives up the last hold of a large catalog would spend its requests' time on it.
TEST_F(CatalogLoaderTest, OldCatalogsAreFreedByTheLoaderAlone) {
  start(1h);
  CatalogNews first = news_.next();
  ASSERT_NE(first.catalog, nullptr) << first.error;
  const std::weak_ptr<const LoadedCatalog> old = first.catalog;
  source_->answer(reading(2));
  loader_->refresh({});
  const CatalogNews second = news_.next();
  ASSERT_NE(second.catalog, nullptr) << second.error;
  first.catalog.reset();
  EXPECT_FALSE(old.expired());
  source_->answer(std::unexpected("script: gone"));
  loader_->refresh({});
  EXPECT_EQ(news_.next().error, "script: gone");
  EXPECT_TRUE(old.expired());
}

}  // namespace
}  // namespace spillway::app::bidding
