// What recording costs a worker: the record's building and its hand-over, beside whole auctions.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <time.h>

#include "app/exchange/recorder.h"
#include "base/call_result.h"
#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "exchange/record.h"
#include "openrtb/padded.h"

namespace spillway::app {
namespace {

/// What a worker of 3 000 auctions/s offers between two looks of the writer (20 ms): as many
/// records go round, out of the caches in between.
constexpr uint32_t kBurst = 60;
constexpr uint32_t kQueue = 1'024;

std::string request_of_two_kilobytes() {
  return exchange::request_json(
      R"({"id":"1","banner":{"format":[{"w":300,"h":250},{"w":336,"h":280}]},"bidfloor":0.35,"secure":1})",
      R"(,"site":{"id":"s1","page":"https://news.example/story","publisher":{"id":"p1"}},"tmax":200,)"
      R"("badv":["blocked.example"],"bcat":["IAB25"],"user":{"ext":{"data":")" +
          std::string(1'700, 'u') + R"("}})");
}

std::string answer_of_two_kilobytes(size_t dsp) {
  return exchange::response_json(
      exchange::bid_json("b", "1", "1." + std::to_string(10 + dsp),
                         R"(,"w":300,"h":250,"adomain":["brand.example"],"ext":{"x":")" +
                             std::string(1'700, 'x') + R"("})"));
}

/// Auctions as a worker drives them, without sockets; every fourth DSP bids.
class Auctions {
 public:
  explicit Auctions(size_t fan_out) : request_(request_of_two_kilobytes()) {
    for (size_t i = 0; i < fan_out; ++i) {
      market_.add("dsp" + std::to_string(100 + i), {});
      bodies_.emplace_back(i % 4 == 0 ? answer_of_two_kilobytes(i) : "");
    }
    verdicts_.resize(fan_out);
    market_.start.body = request_.view();
    result_.phase = base::CallPhase::kDone;
    result_.started_at = market_.start.now;
    result_.ended_at = market_.start.now + std::chrono::milliseconds(30);
  }

  void run() {
    ++market_.start.seed;
    auction_.start(market_.snapshot, market_.start);
    for (const exchange::Ask& ask : auction_.admit(market_.start.now, verdicts_)) {
      auction_.on_answer(result_.ended_at, ask.candidate, result_of(ask.candidate),
                         bodies_[ask.candidate].view());
    }
    auction_.finish(result_.ended_at);
  }

  /// All that Worker does for the recorder in the auction run last.
  void record(Recorder& recorder) {
    auto record = recorder.blank(0);
    record->take_start(market_.snapshot, market_.start);
    record->take_admit(market_.start.now, verdicts_);
    for (uint32_t i = 0; i < bodies_.size(); ++i) {
      record->take_answer(result_.ended_at, i, result_of(i), bodies_[i].view());
    }
    record->take_finish(result_.ended_at);
    record->take_reply(auction_.reply());
    recorder.offer(0, std::move(record));
  }

  [[nodiscard]] bool sold() const { return auction_.reply().kind == exchange::ReplyKind::kBid; }

 private:
  const base::CallResult& result_of(uint32_t candidate) {
    result_.status = bodies_[candidate].view().empty() ? 204 : 200;
    return result_;
  }

  exchange::FakeMarket market_;
  openrtb::Padded request_;
  std::vector<openrtb::Padded> bodies_;
  std::vector<exchange::Verdict> verdicts_;
  base::CallResult result_;
  exchange::Auction auction_;
};

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void wait_for_writer(const Recorder& recorder, uint64_t offered) {
  while (recorder.written() + recorder.dropped() < offered) {
    std::this_thread::yield();
  }
}

/// The baseline: an auction without its recording.
void BM_AuctionOnTheWorker(benchmark::State& state) {
  Auctions auctions(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    auctions.run();
  }
  if (!auctions.sold()) {
    state.SkipWithError("the auctions sold nothing");
  }
}

BENCHMARK(BM_AuctionOnTheWorker)->Arg(5)->Arg(20);

/// Bar: at most 2 us an auction: the time is that of one auction, on this thread's processor clock.
/// The writer works meanwhile; the wait for it, so that no record is dropped, is not counted.
void BM_RecordingOnTheWorker(benchmark::State& state) {
  Auctions auctions(static_cast<size_t>(state.range(0)));
  Recorder recorder({.path = "/dev/null", .sample_ratio = 1, .queue = kQueue}, 1);
  auctions.run();
  uint64_t offered = 0;
  const auto burst = [&] {
    wait_for_writer(recorder, offered);
    const double begun = thread_seconds();
    for (uint32_t i = 0; i < kBurst; ++i) {
      auctions.record(recorder);
    }
    offered += kBurst;
    return (thread_seconds() - begun) / kBurst;
  };
  burst();  // Later ones reuse its records' memory, as in a server that runs.
  for (auto _ : state) {
    state.SetIterationTime(burst());
  }
  if (recorder.dropped() != 0) {
    state.SkipWithError("records were dropped: a drop is cheaper than a hand-over");
  }
}

BENCHMARK(BM_RecordingOnTheWorker)->Arg(5)->Arg(20)->UseManualTime()->Iterations(50);

}  // namespace
}  // namespace spillway::app
