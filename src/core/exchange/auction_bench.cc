#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/call_result.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "exchange/record.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"

namespace spillway::exchange {
namespace {

/// A request of about 2 KiB with one imp, as a web publisher's exchange sees it.
std::string web_request() {
  std::string ids;
  for (int i = 0; i < 8; ++i) {
    ids += i == 0 ? "" : ",";
    ids += R"({"source":"id)" + std::to_string(i) +
           R"(.example","uids":[{"id":"0123456789abcdef0123456789abcdef","atype":1}]})";
  }
  return R"({"id":"6a8d5e10-2c1f-4c11-9d3b-7e0f4be0a111","imp":[{"id":"1","banner":{"format":[{"w":300,"h":250},)"
         R"({"w":336,"h":280}],"pos":1,"battr":[1,3]},"bidfloor":0.35,"bidfloorcur":"USD","secure":1,"tagid":"top"}],)"
         R"("site":{"id":"s1","domain":"news.example","page":"https://news.example/2026/11/a-story.html","cat":["IAB12"],)"
         R"("publisher":{"id":"pub-1","name":"News"}},"device":{"ua":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 )"
         R"((KHTML, like Gecko) Chrome/126.0 Safari/537.36","ip":"203.0.113.7","geo":{"country":"DEU","lat":52.52,)"
         R"("lon":13.405},"language":"de","devicetype":2},"user":{"id":"u-77","ext":{"eids":[)" +
         ids +
         R"(]}},"cur":["USD"],"tmax":200,"badv":["blocked.example","other.example"],"bcat":["IAB25","IAB26"],)"
         R"("source":{"tid":"t-1"},"regs":{"ext":{"gdpr":0}}})";
}

/// Every fourth DSP bids with 1.5 KiB of markup; the others say no.
std::string banner_answer(size_t dsp) {
  return response_json(
      R"({"id":"b1","impid":"1","price":1.)" + std::to_string(dsp + 10) +
          R"(,"adid":"7","adm":"<div>)" + std::string(1400, 'x') +
          R"(<img src=\"https://cdn.example/p?price=${AUCTION_PRICE}\"></div>","adomain":["brand.example"],)"
          R"("crid":"c-1","cat":["IAB2"],"w":300,"h":250,"nurl":"https://n.example/w?p=${AUCTION_PRICE}"})",
      R"(,"bidid":"x1","cur":"USD")");
}

/// Drives auctions as a worker does, without the network.
class Driver {
 public:
  explicit Driver(size_t fan_out) : request_(web_request()) {
    market_.add_house();
    for (size_t i = 0; i < fan_out; ++i) {
      market_.add("dsp" + std::to_string(100 + i), {});
      bodies_.emplace_back(i % 4 == 0 ? banner_answer(i) : "");
    }
    verdicts_.resize(fan_out);
    market_.start.body = request_.view();
    result_.phase = base::CallPhase::kDone;
    result_.started_at = market_.start.now;
    result_.ended_at = market_.start.now + std::chrono::milliseconds(30);
  }

  void refuse_all() {
    for (Verdict& verdict : verdicts_) {
      verdict.refusal = 520;
    }
  }

  /// Bytes of the reply. With a record, the worker's part of recording is done too.
  size_t run(Record* record) {
    ++market_.start.seed;
    if (record != nullptr) {
      record->take_start(market_.snapshot, market_.start);
    }
    auction_.start(market_.snapshot, market_.start);
    if (record != nullptr) {
      record->take_admit(market_.start.now, verdicts_);
    }
    for (const Ask& ask : auction_.admit(market_.start.now, verdicts_)) {
      const openrtb::Padded& body = bodies_[ask.candidate];
      result_.status = body.view().empty() ? 204 : 200;
      if (record != nullptr) {
        record->take_answer(result_.ended_at, ask.candidate, result_, body.view());
      }
      auction_.on_answer(result_.ended_at, ask.candidate, result_, body.view());
    }
    auction_.finish(result_.ended_at);
    if (record != nullptr) {
      record->take_finish(result_.ended_at);
      record->take_reply(auction_.reply());
    }
    return auction_.reply().body.size();
  }

  /// The same copies alone.
  void record_only(Record& record) {
    record.take_start(market_.snapshot, market_.start);
    record.take_admit(market_.start.now, verdicts_);
    for (uint32_t i = 0; i < bodies_.size(); ++i) {
      record.take_answer(result_.ended_at, i, result_, bodies_[i].view());
    }
    record.take_finish(result_.ended_at);
    record.take_reply(auction_.reply());
  }

  [[nodiscard]] std::string_view request() const { return request_.view(); }

  [[nodiscard]] const Auction& auction() const { return auction_; }

 private:
  FakeMarket market_;
  openrtb::Padded request_;
  std::vector<openrtb::Padded> bodies_;
  std::vector<Verdict> verdicts_;
  base::CallResult result_;
  Auction auction_;
};

/// The baseline: reading the request alone.
void BM_ReadRequest(benchmark::State& state) {
  const Driver driver(1);
  openrtb::Document document;
  openrtb::RequestView view;
  for (auto _ : state) {
    benchmark::DoNotOptimize(document.walk(driver.request()));
    benchmark::DoNotOptimize(read_request(document, {}, view));
    view.clear();
  }
}

BENCHMARK(BM_ReadRequest);

void BM_WholeAuction(benchmark::State& state) {
  Driver driver(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(driver.run(nullptr));
  }
  state.counters["reply_bytes"] = static_cast<double>(driver.auction().reply().body.size());
}

BENCHMARK(BM_WholeAuction)->Arg(5)->Arg(20);

/// Bar: under 0.5 ms.
void BM_HouseAdWithEveryCircuitOpen(benchmark::State& state) {
  Driver driver(static_cast<size_t>(state.range(0)));
  driver.refuse_all();
  for (auto _ : state) {
    benchmark::DoNotOptimize(driver.run(nullptr));
  }
  if (driver.auction().reply().kind != ReplyKind::kHouse) {
    state.SkipWithError("no house ad was served");
  }
}

BENCHMARK(BM_HouseAdWithEveryCircuitOpen)->Arg(5)->Arg(20);

/// Bar: at most 2 us on the worker.
void BM_RecordBuilding(benchmark::State& state) {
  Driver driver(static_cast<size_t>(state.range(0)));
  Record record;
  driver.run(nullptr);
  for (auto _ : state) {
    driver.record_only(record);
    benchmark::DoNotOptimize(record);
  }
}

BENCHMARK(BM_RecordBuilding)->Arg(5)->Arg(20);

/// Not on the worker: what the log's writer pays.
void BM_RecordEncoding(benchmark::State& state) {
  Driver driver(static_cast<size_t>(state.range(0)));
  Record record;
  driver.run(&record);
  std::string log;
  for (auto _ : state) {
    log.clear();
    append_record(log, record);
    benchmark::DoNotOptimize(log);
  }
  state.counters["log_bytes"] = static_cast<double>(log.size());
}

BENCHMARK(BM_RecordEncoding)->Arg(5)->Arg(20);

}  // namespace
}  // namespace spillway::exchange
