#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "base/spin_lock.h"
#include "bidder/caps/cache.h"
#include "bidder/caps/keys.h"
#include "bidder/caps/table.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "bidder/model.h"

namespace spillway::bidder::caps {
namespace {

constexpr int64_t kNow = 1'767'571'200;
constexpr size_t kUsers = 1 << 16;

const std::vector<UserHash>& users() {
  static const std::vector<UserHash> all = [] {
    std::vector<UserHash> made;
    for (size_t i = 0; i < kUsers; ++i) {
      made.push_back(hash_user("bench", std::to_string(i)).value());
    }
    return made;
  }();
  return all;
}

std::vector<CapLimit> three_limits() {
  return {{.key = {.id = 1}, .most = 1'000},
          {.key = {.window = CapWindow::kHour, .id = 1}, .most = 1'000},
          {.key = {.scope = CapScope::kAdvertiser,
                   .window = CapWindow::kWeek,
                   .kind = CapKind::kSliding,
                   .id = 9},
           .most = 1'000}};
}

/// The baseline: what a section costs alone.
void BM_SpinLockAlone(benchmark::State& state) {
  base::SpinLock lock;
  for (auto _ : state) {
    const base::SpinSection section(lock);
    benchmark::ClobberMemory();
  }
}

BENCHMARK(BM_SpinLockAlone);

/// A bid under three limits of one of 65 536 users, and its release.
void BM_ReserveAndRelease(benchmark::State& state) {
  static CapTable* const table = new CapTable({.bytes = uint64_t{64} << 20, .pending_s = 60});
  const std::vector<CapLimit> limits = three_limits();
  const std::array<CapKey, 3> keys{limits[0].key, limits[1].key, limits[2].key};
  base::Rng rng(static_cast<uint64_t>(state.thread_index()));
  for (auto _ : state) {
    const UserHash& user = users()[rng.below(kUsers)];
    if (const auto hold = table->reserve(user, limits, {}, kNow)) {
      table->release(user, keys, *hold, kNow);
    }
  }
}

BENCHMARK(BM_ReserveAndRelease)->Threads(1)->Threads(2);

/// What a candidate costs that is only looked at.
void BM_Allows(benchmark::State& state) {
  static CapTable* const table = new CapTable({.bytes = uint64_t{64} << 20, .pending_s = 60});
  const std::vector<CapLimit> limits = three_limits();
  base::Rng rng(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(table->allows(users()[rng.below(kUsers)], limits, {}, kNow));
  }
}

BENCHMARK(BM_Allows);

/// 20 keys of a warm user.
void BM_CacheFindTwentyKeys(benchmark::State& state) {
  CapCache cache({.routing = Routing::kSingleInstance, .bytes = uint64_t{256} << 20});
  std::vector<CapKey> keys;
  for (int64_t i = 0; i < 20; ++i) {
    keys.push_back({.id = i});
  }
  const std::vector<CapCounts> zero(keys.size());
  constexpr size_t kWarm = 4'096;
  for (size_t i = 0; i < kWarm; ++i) {
    cache.populate(users()[i], keys, zero, kNow);
  }
  std::vector<CapCounts> counts(keys.size());
  std::vector<uint32_t> missing;
  base::Rng rng(1);
  for (auto _ : state) {
    missing.clear();
    benchmark::DoNotOptimize(cache.find(users()[rng.below(kWarm)], keys, counts, missing, kNow));
  }
}

BENCHMARK(BM_CacheFindTwentyKeys);

void BM_HashUser(benchmark::State& state) {
  const std::string id = "38400000-8cf0-11bd-b23e-10b96e40000d";
  for (auto _ : state) {
    benchmark::DoNotOptimize(hash_user("ifa", id));
  }
}

BENCHMARK(BM_HashUser);

}  // namespace
}  // namespace spillway::bidder::caps
