#include <chrono>
#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/money.h"
#include "base/rates.h"
#include "base/rng.h"
#include "bidder/model.h"
#include "bidder/pricing.h"

namespace spillway::bidder {
namespace {

std::vector<double> probabilities() {
  base::Rng rng(1);
  std::vector<double> out(1024);
  for (double& p : out) {
    p = rng.uniform() * 0.01;
  }
  return out;
}

void price_all(benchmark::State& state, const SaleTerms& sale, const Shading& shading) {
  base::Rates rates(base::Currency{}, 1, std::chrono::milliseconds(1));
  rates.add({{'E', 'U', 'R'}}, 900'000'000);
  const CampaignTerms terms{
      .goal_value_micros = 1'000'000, .most = {50'000'000}, .margin_ppm = 150'000};
  CampaignTerms clicks = terms;
  clicks.goal = Goal::kCpc;
  const auto chances = probabilities();
  size_t i = 0;
  for (auto _ : state) {
    auto price = price_bid(clicks, chances[++i % chances.size()], sale, rates, shading);
    benchmark::DoNotOptimize(price);
  }
}

void price(benchmark::State& state) { price_all(state, {.floor = {1'000'000}}, {}); }

BENCHMARK(price);

void price_shaded(benchmark::State& state) {
  const SurplusShade shade{.keep_ratio = 0.8};
  price_all(state, {.floor = {1'000'000}, .at = SaleTerms::At::kFirst}, shade.hook());
}

BENCHMARK(price_shaded);

void price_in_another_currency(benchmark::State& state) {
  price_all(state, {.floor = {1'000'000}, .floor_currency = {}, .currency = {{'E', 'U', 'R'}}}, {});
}

BENCHMARK(price_in_another_currency);

}  // namespace
}  // namespace spillway::bidder
