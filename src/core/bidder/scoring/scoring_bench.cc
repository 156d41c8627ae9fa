#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <xgboost/c_api.h>

#include "bidder/model.h"
#include "bidder/scoring/cascade.h"
#include "bidder/scoring/document.h"
#include "bidder/scoring/features.h"
#include "bidder/scoring/model.h"
#include "bidder/scoring/trained_model_test.h"
#include "bidder/scoring/tree_model.h"
#include "bidder/scoring/xgboost_model.h"

namespace spillway::bidder {
namespace {

constexpr size_t kBatch = 40;

// Never freed: libxgboost frees a model with memory of its threads, which ends before main() has.
const TrainedModel& trained() {
  static const auto& model =
      *new TrainedModel({.columns = kFeatures, .rounds = 100, .depth = 6, .missing_ratio = 0.1});
  return model;
}

TreeModel ours() {
  auto document = read_document(trained().save("ubj"));
  return read_xgboost(*document, "")->trees;
}

void trees_of_a_batch_of40(benchmark::State& state) {
  const TreeModel model = ours();
  const TrainedRows rows = random_rows(kBatch, kFeatures, 0.1, 5);
  std::vector<const float*> pointers;
  pointers.reserve(kBatch);
  for (size_t i = 0; i < kBatch; ++i) {
    pointers.push_back(rows.values.data() + i * kFeatures);
  }
  std::vector<float> out(kBatch);
  for (auto _ : state) {
    model.predict(pointers, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.counters["per_candidate"] = benchmark::Counter(
      static_cast<double>(kBatch),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK(trees_of_a_batch_of40);

// The baseline: the library itself, as a server would call it, without building a matrix.
void libxgboost_inplace_of_a_batch_of40(benchmark::State& state) {
  const TrainedRows rows = random_rows(kBatch, kFeatures, 0.1, 5);
  const std::string array =
      R"({"data":[)" + std::to_string(reinterpret_cast<uintptr_t>(rows.values.data())) +
      R"(,true],"shape":[40,)" + std::to_string(kFeatures) + R"(],"typestr":"<f4","version":3})";
  const char* const config =
      R"({"type":0,"iteration_begin":0,"iteration_end":0,"missing":NaN,"strict_shape":false,"cache_id":0})";
  for (auto _ : state) {
    const bst_ulong* shape = nullptr;
    bst_ulong dimensions = 0;
    const float* answers = nullptr;
    if (XGBoosterPredictFromDense(trained().handle(), array.c_str(), config, nullptr, &shape,
                                  &dimensions, &answers) != 0) {
      state.SkipWithError(XGBGetLastError());
      break;
    }
    benchmark::DoNotOptimize(answers);
  }
  state.counters["per_candidate"] = benchmark::Counter(
      static_cast<double>(kBatch),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK(libxgboost_inplace_of_a_batch_of40);

void cascade_of_a_batch_of40(benchmark::State& state) {
  LinearModel cheap{.link = Link::kLogistic,
                    .bias = -3,
                    .weights = std::vector<float>(kFeatures, 0.01F),
                    .defaults = std::vector<float>(kFeatures)};
  const Cascade cascade({Model("cheap", cheap), Model("trees", ours())}, {}, 10);
  const TrainedRows rows = random_rows(kBatch, kFeatures, 0.1, 5);
  ScoreBatch batch(kBatch);
  for (size_t i = 0; i < kBatch; ++i) {
    FeatureRow* const row = batch.add(Goal::kCpc, {static_cast<int64_t>(1'000'000 + i)});
    std::copy_n(rows.values.data() + i * kFeatures, kFeatures, row->begin());
  }
  for (auto _ : state) {
    cascade.score(batch);
    benchmark::DoNotOptimize(batch.probability(0));
  }
}

BENCHMARK(cascade_of_a_batch_of40);

}  // namespace
}  // namespace spillway::bidder
