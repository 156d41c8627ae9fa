#include <chrono>
#include <string>

#include <benchmark/benchmark.h>

#include "base/time.h"
#include "capacity/law.h"
#include "capacity/law_settings.h"
#include "capacity/reading.h"
#include "capacity/sample.h"
#include "capacity/sample_text.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {
namespace {

using std::chrono::seconds;

constexpr base::Instant kNow{std::chrono::hours(1)};

Sample peer(int64_t i) {
  return {.id = "i-0123456789abcde" + std::to_string(i),
          .zone = "eu-west-1a",
          .server_class = "c5.4xlarge/" + std::to_string(i % 5),
          .capacity = 1000.0 + static_cast<double>(i % 17),
          .utilization = 0.6 + 0.001 * static_cast<double>(i % 7),
          .successes_per_second = 600,
          .requests_per_second = 610,
          .weight = 100,
          .sequence = 1,
          .taken_at = kNow,
          .p95_ms = 10};
}

ZoneView view_of(int64_t peers) {
  ZoneView view({.stale_after = std::chrono::hours(1)});
  for (int64_t i = 0; i < peers; ++i) {
    (void)view.put(kNow, peer(i));
  }
  return view;
}

/// Baseline: copying one sample, which every step does anyway.
void copy_sample(benchmark::State& state) {
  const Sample sample = peer(1);
  for (auto _ : state) {
    Sample copy = sample;
    benchmark::DoNotOptimize(copy);
  }
}

BENCHMARK(copy_sample);

void law_step(benchmark::State& state) {
  const ZoneView view = view_of(state.range(0));
  Law law(LawSettings{}, {.id = "self", .zone = "eu-west-1a", .server_class = "c5.4xlarge/1"});
  Reading reading{.utilization = 0.6,
                  .successes_per_second = 600,
                  .requests_per_second = 610,
                  .window = seconds(2),
                  .serving_for = seconds(600)};
  base::Instant now = kNow;
  for (auto _ : state) {
    reading.utilization = reading.utilization > 0.6 ? 0.59 : 0.61;
    now += base::Duration(1000);
    benchmark::DoNotOptimize(law.step(now, reading, {}, view));
  }
}

BENCHMARK(law_step)->Arg(0)->Arg(26)->Arg(200);

void put_sample(benchmark::State& state) {
  ZoneView view = view_of(200);
  Sample sample = peer(100);
  for (auto _ : state) {
    ++sample.sequence;
    benchmark::DoNotOptimize(view.put(kNow, sample));
  }
}

BENCHMARK(put_sample);

void write_text(benchmark::State& state) {
  const Sample sample = peer(1);
  std::string text;
  for (auto _ : state) {
    text.clear();
    append_text(text, sample, kNow);
    benchmark::DoNotOptimize(text.data());
  }
}

BENCHMARK(write_text);

void read_text(benchmark::State& state) {
  std::string text;
  append_text(text, peer(1), kNow);
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse_text(text, kNow));
  }
}

BENCHMARK(read_text);

}  // namespace
}  // namespace spillway::capacity
