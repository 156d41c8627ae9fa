// Arbitrary bytes as a model file, JSON or UBJSON: a model that is read answers a row with a
// probability.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "bidder/scoring/features.h"
#include "bidder/scoring/model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spillway;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer's bytes.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto model = bidder::load_model(bytes);
  if (!model) {
    return 0;
  }
  const std::vector<float> row(bidder::kFeatures, std::numeric_limits<float>::quiet_NaN());
  const float* rows[] = {row.data()};
  float answer = -1;
  model->predict(rows, {&answer, 1});
  if (!(answer >= 0 && answer <= 1)) {
    std::abort();
  }
  return 0;
}
