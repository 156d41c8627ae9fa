// Arbitrary bytes as a peer's sample: what is read is plausible, and says the same when it is
// written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/time.h"
#include "capacity/sample_text.h"
#include "capacity/zone_view.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spillway;
  const std::string line(data, data + size);
  const base::Instant reference{};
  const auto sample = capacity::parse_text(line, reference);
  if (!sample) {
    if (sample.error().offset > line.size() || to_string(sample.error()).empty()) {
      std::abort();
    }
    return 0;
  }
  if (!capacity::plausible(*sample)) {
    std::abort();
  }
  std::string written;
  capacity::append_text(written, *sample, reference);
  const auto again = capacity::parse_text(written, reference);
  if (!again) {
    std::abort();
  }
  std::string twice;
  capacity::append_text(twice, *again, reference);
  if (twice != written) {
    std::abort();
  }
  return 0;
}
