#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "bidder/generate/catalogs.h"
#include "bidder/generate/users.h"

namespace spillway::bidder::generate {
namespace {

void make_parity_catalog(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(parity_catalog({}));
  }
}

void make_user(benchmark::State& state, const Users& users) {
  std::vector<uint32_t> segments;
  uint64_t user = 0;
  for (auto _ : state) {
    user = user % users.count() + 1;
    benchmark::DoNotOptimize(users.segments(user, segments));
  }
}

BENCHMARK(make_parity_catalog)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_user, parity, Users::parity());
BENCHMARK_CAPTURE(make_user, honest, Users::honest());

}  // namespace
}  // namespace spillway::bidder::generate
