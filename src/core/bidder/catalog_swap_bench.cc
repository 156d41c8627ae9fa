// What a worker waits for when a new catalog of 100,000 campaigns is put under its requests: the
// first one after it, beside any other of the same run.
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bidder/catalog.h"
#include "bidder/generate/catalogs.h"
#include "bidder/in_flight.h"
#include "bidder/model.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pipeline.h"
#include "bidder/pipeline_fixture.h"
#include "bidder/time_zone.h"
#include "openrtb/padded.h"

namespace spillway::bidder {
namespace {

using testing::kNowS;
using testing::Market;

/// A market under two catalogs in turn.
class Swaps {
 public:
  Swaps()
      : rows_(generate::honest_catalog({.seed = 42, .campaigns = 100'000, .today_s = kNowS})),
        market_(rows_, zones()),
        other_(rows_, zones(), 2) {
    find_in_flight(market_.catalog, kNowS, flights_);
    find_in_flight(other_, kNowS, other_flights_);
    for (const auto& campaign : market_.catalog.campaigns()) {
      paced_.push_back({.campaign = campaign.id, .pacing = campaign.pacing});
    }
  }

  static Swaps& shared() {
    static Swaps swaps;
    return swaps;
  }

  [[nodiscard]] std::shared_ptr<PacerTable> table() const {
    return std::make_shared<PacerTable>(paced_);
  }

  void use_the_other() { on_other_ = !on_other_; }

  Pacer& pacer() { return market_.pacer; }

  /// With who is in flight made ahead, as the program does, or found out by the worker.
  void ask(bool prepared = true) {
    World world = market_.world();
    world.catalog = on_other_ ? &other_ : &market_.catalog;
    world.in_flight[0] = !prepared ? nullptr : on_other_ ? &other_flights_ : &flights_;
    pipeline_.begin(world, {.now = market_.now,
                            .time_zero = market_.now,
                            .unix_s = kNowS,
                            .bid_key = ++market_.keys,
                            .shed = false,
                            .debug = false,
                            .exchange = 0,
                            .body = text_.view()});
    market_.finish(pipeline_);
    (void)market_.grant.expire(market_.now);
  }

 private:
  [[nodiscard]] std::vector<TimeZone> zones() const {
    std::set<std::string> names;
    for (const auto& advertiser : rows_.advertisers) {
      names.insert(advertiser.time_zone);
    }
    std::vector<TimeZone> zones;
    for (const auto& name : names) {
      zones.push_back({.name = name, .changes = {}});
    }
    return zones;
  }

  CatalogRows rows_;
  Market market_;
  Catalog other_;
  InFlight flights_, other_flights_;
  std::vector<PacedCampaign> paced_;
  bool on_other_ = false;
  openrtb::Padded text_{testing::request(2)};
  Pipeline pipeline_{market_.stats};
};

void a_request(benchmark::State& state) {
  Swaps& swaps = Swaps::shared();
  for (auto _ : state) {
    swaps.ask();
  }
}

BENCHMARK(a_request)->Unit(benchmark::kMicrosecond);

void the_first_after_a_new_catalog(benchmark::State& state) {
  Swaps& swaps = Swaps::shared();
  for (auto _ : state) {
    state.PauseTiming();
    auto table = swaps.table();
    const auto kept = table;  // freed outside of the clock, as by the program's control thread
    (void)swaps.pacer().carry_over(SIZE_MAX);
    swaps.use_the_other();
    state.ResumeTiming();
    swaps.pacer().take(std::move(table));
    swaps.ask();
  }
}

BENCHMARK(the_first_after_a_new_catalog)->Unit(benchmark::kMicrosecond)->Iterations(50);

// What it was before: who is in flight found out by the worker.
void the_same_with_its_flights_found_by_the_worker(benchmark::State& state) {
  Swaps& swaps = Swaps::shared();
  for (auto _ : state) {
    swaps.use_the_other();
    swaps.ask(false);
  }
}

BENCHMARK(the_same_with_its_flights_found_by_the_worker)
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(50);

// And before that: its pacing, too.
void the_same_with_its_pacing_made_by_the_worker(benchmark::State& state) {
  Swaps& swaps = Swaps::shared();
  for (auto _ : state) {
    swaps.use_the_other();
    swaps.pacer().take(swaps.table());
    (void)swaps.pacer().carry_over(SIZE_MAX);
    swaps.ask(false);
  }
}

BENCHMARK(the_same_with_its_pacing_made_by_the_worker)
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(50);

}  // namespace
}  // namespace spillway::bidder
