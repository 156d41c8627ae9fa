#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/money.h"
#include "base/rng.h"
#include "base/time.h"
#include "bidder/model.h"
#include "bidder/pacing/grant.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pacing/pacer.h"

namespace spillway::bidder {
namespace {

constexpr int64_t kCampaigns = 100'000;

LocalGrant& shared_grant() {
  static LocalGrant grant({});
  static const bool filled = [] {
    std::vector<CampaignBudget> budgets;
    for (int64_t id = 1; id <= kCampaigns; ++id) {
      budgets.push_back({id, base::money_of_micros(1'000'000'000'000), {}});
    }
    return grant.refresh(budgets, 0) == 0;
  }();
  benchmark::DoNotOptimize(filled);
  return grant;
}

// Reserve, submit and settle: all that one won bid costs. With two threads on one table.
void reserve_submit_settle(benchmark::State& state) {
  LocalGrant& grant = shared_grant();
  base::Rng rng(static_cast<uint64_t>(state.thread_index()));
  const BudgetTime at{base::Instant(), 1'000'000};
  for (auto _ : state) {
    const auto campaign = static_cast<int64_t>(1 + rng.below(kCampaigns));
    const uint64_t key = rng.next();
    auto held = grant.try_reserve(campaign, {1'000}, at);
    if (held && held->submit(key, at.now)) {
      benchmark::DoNotOptimize(grant.settle(key, {900}));
    }
  }
}

BENCHMARK(reserve_submit_settle)->Threads(1)->Threads(2)->UseRealTime();

void reserve_and_cancel(benchmark::State& state) {
  LocalGrant& grant = shared_grant();
  base::Rng rng(static_cast<uint64_t>(state.thread_index()));
  for (auto _ : state) {
    const auto campaign = static_cast<int64_t>(1 + rng.below(kCampaigns));
    auto held = grant.try_reserve(campaign, {1'000}, {base::Instant(), 1'000'000});
    benchmark::DoNotOptimize(held);
  }
}

BENCHMARK(reserve_and_cancel)->Threads(1)->Threads(2)->UseRealTime();

// Twenty candidates of one request, among 100,000 campaigns.
void admit_twenty(benchmark::State& state) {
  const LocalGrant& grant = shared_grant();
  Pacer pacer({});
  std::vector<PacedCampaign> paced;
  for (int64_t id = 1; id <= kCampaigns; ++id) {
    paced.push_back({id, Pacing::kEven});
  }
  pacer.refresh(paced);
  base::Rng rng(1);
  int64_t ns = 0;
  for (auto _ : state) {
    const BudgetTime at{base::Instant(base::Duration(ns += 20'000)), 1'000'000};
    for (int i = 0; i < 20; ++i) {
      const auto campaign = static_cast<int64_t>(1 + rng.below(kCampaigns));
      benchmark::DoNotOptimize(pacer.admit(campaign, grant, at, rng.next()));
    }
  }
}

BENCHMARK(admit_twenty);

std::vector<PacedCampaign> all_campaigns() {
  std::vector<PacedCampaign> paced;
  for (int64_t id = 1; id <= kCampaigns; ++id) {
    paced.push_back({.campaign = id});
  }
  return paced;
}

// A new catalog of 100,000 campaigns, all at once: the baseline of the next two.
void refresh_at_once(benchmark::State& state) {
  const auto paced = all_campaigns();
  Pacer pacer({});
  pacer.refresh(paced);
  for (auto _ : state) {
    pacer.refresh(paced);
  }
}

BENCHMARK(refresh_at_once)->Unit(benchmark::kMicrosecond);

// What a worker waits for it, the table being made elsewhere,
void take_table(benchmark::State& state) {
  const auto paced = all_campaigns();
  Pacer pacer({});
  pacer.refresh(paced);
  for (auto _ : state) {
    state.PauseTiming();
    auto table = std::make_shared<PacerTable>(paced);
    (void)pacer.carry_over(SIZE_MAX);
    state.ResumeTiming();
    pacer.take(std::move(table));
  }
}

BENCHMARK(take_table)->Unit(benchmark::kMicrosecond)->Iterations(100);

// and for each piece of what it knew.
void carry_over_5000(benchmark::State& state) {
  const auto paced = all_campaigns();
  Pacer pacer({});
  pacer.refresh(paced);
  auto kept = std::make_shared<PacerTable>(paced);
  pacer.take(kept);
  for (auto _ : state) {
    if (pacer.carry_over(5'000)) {
      state.PauseTiming();
      auto next = std::make_shared<PacerTable>(paced);
      pacer.take(next);
      kept = std::move(next);
      state.ResumeTiming();
    }
  }
}

BENCHMARK(carry_over_5000)->Unit(benchmark::kMicrosecond)->Iterations(200);

}  // namespace
}  // namespace spillway::bidder
