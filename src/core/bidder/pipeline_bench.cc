// A whole request, from its bytes to the answer's, caches warm: the figure of DESIGN 6 is 40 us of
// user CPU. Baseline of the same run: walking and validating its bytes alone.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bidder/caps/segments.h"
#include "bidder/generate/catalogs.h"
#include "bidder/generate/users.h"
#include "bidder/model.h"
#include "bidder/pipeline.h"
#include "bidder/pipeline_fixture.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"

namespace spillway::bidder {
namespace {

using testing::kNowS;
using testing::Market;

std::string request_of(uint64_t n) {
  constexpr int kMetros[] = {501, 803, 602, 623, 618, 819, 807, 511, 534, 524};
  const std::string user = std::to_string(1 + n * 7919 % 50'000);
  return R"({"id":"req-)" + std::to_string(n) +
         R"(","tmax":120,"at":2,"cur":["USD"],"site":{"id":"s","domain":"news.example","cat":)"
         R"(["IAB2-1","IAB2-2"],"page":"https://news.example/a/b","publisher":{"id":"p1"}},)"
         R"("user":{"id":")" +
         user +
         R"(","data":[{"id":"d","segment":[{"id":"s1"},{"id":"s2"},{"id":"s3"}]}]},"device":)"
         R"({"ua":"Mozilla/5.0","devicetype":2,"ip":"198.51.100.7","language":"en","geo":)"
         R"({"country":"USA","metro":")" +
         std::to_string(kMetros[n % 10]) +
         R"("}},"imp":[{"id":"1","bidfloor":0.03,"video":{"w":640,"h":480,"mimes":["video/mp4"],)"
         R"("protocols":[2,3],"minduration":5,"maxduration":30}},{"id":"2","bidfloor":0.03,)"
         R"("banner":{"w":300,"h":250}}]})";
}

/// Texts with the padding that a document wants.
std::vector<openrtb::Padded> corpus() {
  std::vector<openrtb::Padded> texts;
  for (uint64_t n = 0; n < 1'000; ++n) {
    texts.emplace_back(request_of(n));
  }
  return texts;
}

void validation_alone(benchmark::State& state) {
  const auto texts = corpus();
  openrtb::Document document;
  openrtb::RequestView view;
  size_t next = 0;
  for (auto _ : state) {
    (void)document.walk(texts[next++ % texts.size()].view());
    benchmark::DoNotOptimize(openrtb::read_request(document, {}, view));
  }
}

BENCHMARK(validation_alone);

/// Segments of users as the store has them.
std::vector<std::string> segments() {
  const auto users = generate::Users::parity();
  std::vector<std::string> all;
  std::vector<uint32_t> numbers;
  for (uint64_t user = 1; user <= 1'000; ++user) {
    auto& text = all.emplace_back();
    if (users.segments(user, numbers)) {
      for (const uint32_t number : numbers) {
        text += std::to_string(number) + "\n";
      }
    }
  }
  return all;
}

void whole_request(benchmark::State& state, CatalogRows rows) {
  for (auto& campaign : rows.campaigns) {
    campaign.pacing = Pacing::kAsap;  // the bids are to be made, and paid
  }
  Market market(rows);
  market.step_takes = std::chrono::microseconds(500);
  const auto known = segments();
  size_t user = 0;
  market.segments = [&](const Ask&) {
    return caps::Segments{.state = caps::SegmentState::kKnown, .ids = known[++user % known.size()]};
  };
  std::vector<caps::CapCounts> none(4096);
  market.counts = [&](const Ask& ask) {
    return Market::Counts(std::span(none).first(ask.keys.size()));
  };
  const auto texts = corpus();
  Pipeline pipeline(market.stats);
  size_t next = 0;
  size_t bids = 0;
  for (auto _ : state) {
    market.begin_padded(pipeline, texts[next++ % texts.size()].view());
    market.finish(pipeline);
    bids += pipeline.bids();
    if (next % 256 == 0) {
      (void)market.grant.expire(market.now);
    }
  }
  const auto per_request = [&](double count) {
    return count / static_cast<double>(state.iterations());
  };
  state.counters["bids"] = per_request(static_cast<double>(bids));
  state.counters["candidates"] = per_request(static_cast<double>(market.stats.candidates.value()));
}

void whole_request_w1(benchmark::State& state) {
  whole_request(state, generate::parity_catalog({.seed = 42, .campaigns = 0, .today_s = kNowS}));
}

BENCHMARK(whole_request_w1);

void whole_request_w2(benchmark::State& state) {
  whole_request(state, generate::honest_catalog({.seed = 42, .campaigns = 0, .today_s = kNowS}));
}

BENCHMARK(whole_request_w2);

}  // namespace
}  // namespace spillway::bidder
