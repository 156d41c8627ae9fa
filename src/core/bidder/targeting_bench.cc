// Retrieval of the twenty best of each imp, beside a look at every row: `--benchmark_filter=.`
// prints ns a request of two imps. The catalogs are those of W1 (3.1 K active line items, also with
// 100 K) and of W2 (more than 100 K of every kind).
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/generate/catalogs.h"
#include "bidder/generate/users.h"
#include "bidder/model.h"
#include "bidder/naive_targeting.h"
#include "bidder/retrieval.h"
#include "bidder/targeting_json.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::bidder {
namespace {

constexpr int64_t kNowS = 1'791'979'200;  // Wednesday, 14 October 2026, 12:00 UTC.
constexpr size_t kRequests = 1000;
constexpr size_t kBest = 20;

naive::Imp video_imp() {
  naive::Imp out;
  naive::Medium& video = out.media[1];
  video.offered = true;
  video.w = 640;
  video.h = 480;
  video.min_s = 5;
  video.max_s = 30;
  video.mimes = {"video/mp4", "video/webm"};
  video.protocols = {2, 3};
  video.battr = {13, 14};
  video.pos = 1;
  return out;
}

naive::Imp banner_imp(int w = 300) {
  naive::Imp out;
  naive::Medium& banner = out.media[0];
  banner.offered = true;
  banner.w = w;
  banner.h = 250;
  banner.battr = {13, 14};
  banner.pos = 1;
  return out;
}

/// A thousand requests in the manner of W1: ten metros, three device types, users of whom four in
/// five are few and often.
std::vector<naive::Request> requests(const generate::Users& users,
                                     const std::vector<naive::Imp>& imps) {
  base::Rng rng(7);
  constexpr int kMetros[] = {501, 803, 602, 623, 618, 819, 807, 511, 534, 524};
  std::vector<naive::Request> out(kRequests);
  std::vector<uint32_t> segments;
  for (size_t i = 0; i < out.size(); ++i) {
    naive::Request& request = out[i];
    request.id = "request-" + std::to_string(i);
    request.country = "USA";
    request.metro = std::to_string(kMetros[i % 10]);
    const double draw = rng.uniform();
    request.device_type = draw < 0.728 ? 2 : draw < 0.903 ? 1 : 4;
    request.os = "Linux";
    request.language = "en";
    request.inventory_id = "site-1";
    request.domain = "clips.example";
    request.categories = {"IAB2-1", "IAB2-2"};
    const bool hot = rng.uniform() < 0.8;
    const double u = rng.uniform();
    const auto user = static_cast<uint64_t>(hot ? std::pow(50'000, u) : 1 + u * 100'000'000);
    if (users.segments(user, segments)) {
      request.state = segments.empty() ? SegmentState::kNone : SegmentState::kKnown;
      for (const uint32_t segment : segments) {
        request.segments.push_back(std::to_string(segment));
      }
    }
    request.imps = imps;
  }
  return out;
}

/// The zones that the rows name, all at UTC.
std::vector<TimeZone> zones_of(const CatalogRows& rows) {
  std::set<std::string> names;
  for (const Advertiser& row : rows.advertisers) {
    names.insert(row.time_zone);
  }
  std::vector<TimeZone> out;
  out.reserve(names.size());
  for (const std::string& name : names) {
    out.push_back({.name = name, .changes = {}});
  }
  return out;
}

struct World {
  World(const CatalogRows& from, const generate::Users& users,
        const std::vector<naive::Imp>& imps = {video_imp(), banner_imp()})
      : rows(from),
        said(requests(users, imps)),
        zones(zones_of(from)),
        catalog(rows, zones, 1),
        facts(said.size()) {
    base::Rng rng(1);
    RequestWriter writer(rng);
    for (size_t i = 0; i < said.size(); ++i) {
      naive::Request on_the_wire = said[i];  // The segments come from the store.
      on_the_wire.segments.clear();
      texts.push_back(std::make_unique<openrtb::Padded>(writer.write(on_the_wire)));
      if (!document.walk(texts.back()->view())) {
        std::abort();
      }
      facts[i].read(document);
      for (const std::string& segment : said[i].segments) {
        facts[i].add_segment(segment);
      }
      facts[i].segment_state = said[i].state;
    }
  }

  CatalogRows rows;
  std::vector<naive::Request> said;
  std::vector<TimeZone> zones;
  Catalog catalog;
  std::vector<std::unique_ptr<openrtb::Padded>> texts;
  std::vector<RequestFacts> facts;
  openrtb::Document document;
};

World& parity() {
  static World world(generate::parity_catalog({}), generate::Users::parity());
  return world;
}

World& parity_100k() {
  static World world(generate::parity_catalog({.campaigns = 163'000}), generate::Users::parity());
  return world;
}

/// Two imps of a size that nobody has: every line item is looked at, and none found.
World& in_vain_100k() {
  static World world(generate::parity_catalog({.campaigns = 163'000}), generate::Users::parity(),
                     {banner_imp(301), banner_imp(302)});
  return world;
}

World& honest() {
  static World world(generate::honest_catalog({.today_s = kNowS}), generate::Users::honest());
  return world;
}

void retrieve(benchmark::State& state, World& (*make)()) {
  World& world = make();
  Retrieval retrieval;
  std::vector<Candidate> best(kBest);
  size_t i = 0;
  size_t found = 0;
  for (auto _ : state) {
    const RequestFacts& facts = world.facts[i++ % world.facts.size()];
    retrieval.begin(world.catalog, facts, kNowS);
    for (size_t imp = 0; imp < facts.imps().size(); ++imp) {
      retrieval.begin_imp(imp);
      found += retrieval.next(best);
    }
  }
  state.counters["line_items"] = static_cast<double>(world.catalog.items().size());
  state.counters["found"] =
      benchmark::Counter(static_cast<double>(found), benchmark::Counter::kAvgIterations);
  state.counters["index_mb"] = static_cast<double>(world.catalog.index().bytes()) / 1e6;
}

void look_at_every_row(benchmark::State& state, World& (*make)()) {
  World& world = make();
  const naive::Evaluator evaluator(world.rows, world.zones);
  size_t i = 0;
  for (auto _ : state) {
    const naive::Request& request = world.said[i++ % world.said.size()];
    for (const naive::Imp& imp : request.imps) {
      benchmark::DoNotOptimize(evaluator.matches(request, imp, kNowS));
    }
  }
}

void read_facts(benchmark::State& state, World& (*make)()) {
  World& world = make();
  RequestFacts facts;
  std::vector<openrtb::Document> documents(64);
  for (size_t i = 0; i < documents.size(); ++i) {
    if (!documents[i].walk(world.texts[i]->view())) {
      std::abort();
    }
  }
  size_t i = 0;
  for (auto _ : state) {
    facts.read(documents[i++ % documents.size()]);
    benchmark::DoNotOptimize(facts.imp_count);
  }
}

void build(benchmark::State& state, World& (*make)()) {
  World& world = make();
  for (auto _ : state) {
    benchmark::DoNotOptimize(Catalog(world.rows, world.zones, 1));
  }
}

BENCHMARK_CAPTURE(look_at_every_row, w1, parity);
BENCHMARK_CAPTURE(retrieve, w1, parity);
BENCHMARK_CAPTURE(retrieve, w1_100k, parity_100k);
BENCHMARK_CAPTURE(retrieve, w1_100k_in_vain, in_vain_100k);
BENCHMARK_CAPTURE(retrieve, w2, honest);
BENCHMARK_CAPTURE(read_facts, w1, parity);
BENCHMARK_CAPTURE(build, w1, parity);

}  // namespace
}  // namespace spillway::bidder
