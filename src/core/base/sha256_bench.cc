#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include "base/hmac_sha256.h"
#include "base/sha256_block.h"

namespace spillway::base {
namespace {

using Compress = void (*)(Sha256State&, std::string_view);

void Block(benchmark::State& state, Compress compress_one) {
  if (compress_one == &compress_in_hardware && !has_sha256_instructions()) {
    state.SkipWithError("this processor has no instructions for it");
    return;
  }
  Sha256State words{};
  const std::string block(kSha256Block, 'a');
  for (auto _ : state) {
    compress_one(words, block);
    benchmark::DoNotOptimize(words);
  }
}

BENCHMARK_CAPTURE(Block, Software, &compress_in_software);
BENCHMARK_CAPTURE(Block, Hardware, &compress_in_hardware);

/// A notice's address.
void Sign200Bytes(benchmark::State& state) {
  const HmacSha256 key("a key of some length");
  const std::string message(200, 'a');
  for (auto _ : state) {
    benchmark::DoNotOptimize(key.sign(message));
  }
}

BENCHMARK(Sign200Bytes);

}  // namespace
}  // namespace spillway::base
