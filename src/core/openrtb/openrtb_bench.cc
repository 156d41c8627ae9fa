#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <simdjson.h>

#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/keys.h"
#include "openrtb/macros.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"

namespace spillway::openrtb {
namespace {

/// A request as a web publisher's server sends it: two imps, consent, ids, about 2 KiB.
constexpr std::string_view kRequest =
    R"({"id":"7f1c9a52-8d0e-4f0b-9b1e-5a2c33d1e6aa","at":1,"tmax":250,"cur":["USD","EUR"],)"
    R"("imp":[{"id":"top-1","tagid":"home/leaderboard","secure":1,"instl":0,"bidfloor":0.35,)"
    R"("bidfloorcur":"USD","banner":{"format":[{"w":728,"h":90},{"w":970,"h":250},)"
    R"({"w":320,"h":50}],"pos":1,"topframe":1,"battr":[1,3,13],"api":[3,5,7]},"exp":300,)"
    R"("ext":{"gpid":"/1234/news/home/top","data":{"pbadslot":"/1234/news/home/top"}}},)"
    R"({"id":"mid-2","tagid":"home/article","secure":1,"bidfloor":1.2,"video":{"mimes":)"
    R"(["video/mp4","video/webm"],"minduration":5,"maxduration":30,"protocols":[2,3,5,6,7,8],)"
    R"("w":640,"h":360,"startdelay":0,"plcmt":2,"linearity":1,"skip":1,"playbackmethod":[2],)"
    R"("api":[1,2,7]},"pmp":{"private_auction":0,"deals":[{"id":"deal-88","bidfloor":4.5,)"
    R"("at":1,"wseat":["seat-12"]}]},"ext":{"gpid":"/1234/news/home/article"}}],)"
    R"("site":{"id":"s-991","name":"The Daily Example","domain":"news.example",)"
    R"("page":"https://news.example/world/2026/03/long-article-slug-with-words.html",)"
    R"("ref":"https://search.example/","cat":["IAB12","IAB12-1"],"mobile":1,)"
    R"("publisher":{"id":"pub-4411","name":"Example Media","domain":"media.example"},)"
    R"("content":{"language":"en","keywords":"world,politics,news"}},)"
    R"("device":{"ua":"Mozilla/5.0 (Linux; Android 14; Example 8) AppleWebKit/537.36 (KHTML, )"
    R"(like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36","ip":"198.51.100.23","language":"en",)"
    R"("devicetype":4,"make":"Example","model":"Eight","os":"Android","osv":"14","h":915,)"
    R"("w":412,"pxratio":2.625,"js":1,"connectiontype":6,"dnt":0,"lmt":0,)"
    R"("geo":{"lat":52.5163,"lon":13.3777,"type":2,"country":"DEU","region":"BE",)"
    R"("city":"Berlin","zip":"10117","accuracy":5000,"utcoffset":60}},)"
    R"("user":{"id":"u-5d2b","buyeruid":"b-7742","consent":"CPexampleAAAAexampleAAAAexample)"
    R"(AAAAexampleAAAAexampleAAAAexampleAAAA","eids":[{"source":"id.example","uids":)"
    R"([{"id":"ID5-abcdef0123456789","atype":1}]},{"source":"other.example","uids":)"
    R"([{"id":"0f9e8d7c6b5a","atype":3}]}]},)"
    R"("regs":{"coppa":0,"gdpr":1,"gpp":"DBexample","gpp_sid":[2],"ext":{}},)"
    R"("source":{"tid":"31b7c2d0-9a53-4d0c-8e8f-0f2a5c1b7d11","schain":{"complete":1,)"
    R"("ver":"1.0","nodes":[{"asi":"media.example","sid":"4411","hp":1}]}},)"
    R"("bcat":["IAB25","IAB26","IAB7-39"],"badv":["blocked.example","casino.example"],)"
    R"("ext":{"channel":{"name":"web","version":"v8"}}})";

void report(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
  state.counters["bytes"] = static_cast<double>(bytes);
}

/// Baseline: simdjson's DOM of the same bytes, which checks and finds nothing more.
void bm_simdjson_dom_baseline(benchmark::State& state) {
  const simdjson::padded_string text(kRequest);
  simdjson::dom::parser parser;
  for (auto _ : state) {
    simdjson::dom::element root;
    if (parser.parse(text).get(root) != simdjson::SUCCESS) {
      state.SkipWithError("not parsed");
    }
    benchmark::DoNotOptimize(root);
  }
  report(state, kRequest.size());
}

BENCHMARK(bm_simdjson_dom_baseline);

void bm_walk(benchmark::State& state) {
  const Padded text(kRequest);
  Document document;
  for (auto _ : state) {
    if (!document.walk(text.view())) {
      state.SkipWithError("not walked");
    }
    benchmark::DoNotOptimize(document.size());
  }
  report(state, kRequest.size());
}

BENCHMARK(bm_walk);

void bm_walk_and_read_request(benchmark::State& state) {
  const Padded text(kRequest);
  Document document;
  RequestView view;
  for (auto _ : state) {
    if (!document.walk(text.view()) || !read_request(document, {}, view)) {
      state.SkipWithError("not accepted");
    }
    benchmark::DoNotOptimize(view.imps.size());
  }
  report(state, kRequest.size());
}

BENCHMARK(bm_walk_and_read_request);

/// What one DSP's copy takes: another tmax and at, an imp less, an id of its own, no imp.ext.
void bm_edit_list_pieces(benchmark::State& state) {
  const Padded text(kRequest);
  Document document;
  if (!document.walk(text.view())) {
    state.SkipWithError("not walked");
    return;
  }
  EditList edits(document);
  for (auto _ : state) {
    edits.reset(document);
    const NodeId imps = document.find(0, Key::imp);
    const NodeId first = document.first_child(imps);
    edits.set(0, Key::tmax, "180");
    edits.set(0, Key::at, "1");
    edits.set(0, "cattax", "1");
    edits.remove(document.find(first, Key::ext));
    edits.remove(document.node(first).next);
    edits.set(document.find(0, Key::source), Key::tid, "\"0000\"");
    benchmark::DoNotOptimize(edits.pieces().size());
  }
}

BENCHMARK(bm_edit_list_pieces);

void bm_macros_in_markup(benchmark::State& state) {
  const std::string markup =
      R"(<a href=\"https://dsp.example/click?p=${AUCTION_PRICE}&i=${AUCTION_IMP_ID}\">)"
      R"(<img src=\"https://cdn.example/300x250.png?cb=${AUCTION_ID}\" width=300 height=250>)"
      R"(</a><img src=\"https://dsp.example/pixel?p=${AUCTION_PRICE:B64}\">)";
  MacroValues values;
  values.auction_id = "7f1c9a52-8d0e-4f0b-9b1e-5a2c33d1e6aa";
  values.imp_id = "top-1";
  values.price = "1.25";
  std::string out;
  for (auto _ : state) {
    out.clear();
    append_expanded_json(out, markup, values, MacroContext::kMarkup);
    benchmark::DoNotOptimize(out.data());
  }
  report(state, markup.size());
}

BENCHMARK(bm_macros_in_markup);

}  // namespace
}  // namespace spillway::openrtb
