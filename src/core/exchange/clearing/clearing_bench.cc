#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "exchange/clearing/bid.h"
#include "exchange/clearing/judged_bid.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::exchange::clearing {
namespace {

/// A banner answer of about 1.5 KiB, as DSPs send them.
std::string typical_answer() {
  std::string adm =
      R"(<a href=\"https://click.dsp.example/c?i=1\"><img src=\"https://cdn.dsp.example/a.png\"></a>)";
  while (adm.size() < 1000) {
    adm += R"(<img src=\"https://t.dsp.example/i?p=${AUCTION_PRICE}&n=)" +
           std::to_string(adm.size()) + R"(\" width=\"1\">)";
  }
  return R"({"id":"req-1","cur":"USD","bidid":"r77","seatbid":[{"seat":"s1","bid":[{"id":"b1",)"
         R"("impid":"1","price":1.2345,"adm":")" +
         adm +
         R"(","adomain":["adv.example"],"cid":"c77","crid":"cr9","cat":["IAB3-1"],"attr":[1,2],)"
         R"("w":300,"h":250,"mtype":1,"nurl":"https://dsp.example/w?p=${AUCTION_PRICE}",)"
         R"("burl":"https://dsp.example/b?p=${AUCTION_PRICE}","ext":{"dsp":{"score":0.25}}}]}]})";
}

Scene bench_scene() {
  Scene scene;
  scene.imp().secure = true;
  scene.imp().floor.micros = 500'000;
  scene.imp().battr = {3, 8, 9};
  scene.request.badv = {"a.example", "b.example", "c.example", "d.example"};
  scene.request.bcat = {"IAB25", "IAB26", "IAB7-39", "IAB8-5"};
  return scene;
}

/// The baseline: the walk alone, which every reader has to pay.
void walk_of_a_typical_answer(benchmark::State& state) {
  const openrtb::Padded body(typical_answer());
  openrtb::Document document;
  for (auto _ : state) {
    benchmark::DoNotOptimize(document.walk(body.view()).has_value());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(body.view().size()));
}

void read_of_a_typical_answer(benchmark::State& state) {
  Scene scene = bench_scene();
  const openrtb::Padded body(typical_answer());
  for (auto _ : state) {
    read_answer(body.view(), scene.request, {.dsp = scene.dsp}, scene.document, scene.answer);
    benchmark::DoNotOptimize(scene.answer.bids.data());
  }
  if (scene.answer.bids.size() != 1 || !scene.answer.bids.front().valid()) {
    state.SkipWithError("the typical bid must be valid");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(body.view().size()));
}

void clear_one_imp(benchmark::State& state) {
  const Scene scene;
  std::vector<Bid> bids(static_cast<size_t>(state.range(0)));
  std::vector<Bid*> pointers;
  std::vector<Cleared> cleared;
  for (uint32_t i = 0; i < bids.size(); ++i) {
    bids[i].dsp = i;
    bids[i].id = "bid-" + std::to_string(i);
    bids[i].seat = "seat-" + std::to_string(i);
    bids[i].price.micros = 1'000'000 + (i * 7'919) % 20'011;
    pointers.push_back(&bids[i]);
  }
  for (auto _ : state) {
    for (Bid& bid : bids) {
      bid.loss = openrtb::Loss::kWon;
    }
    clear(scene.request, Rules{.at = 2}, pointers, cleared);
    benchmark::DoNotOptimize(cleared.data());
  }
}

BENCHMARK(walk_of_a_typical_answer);
BENCHMARK(read_of_a_typical_answer);
BENCHMARK(clear_one_imp)->Arg(5)->Arg(20);

}  // namespace
}  // namespace spillway::exchange::clearing
