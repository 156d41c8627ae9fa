#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <vector>

#include "capacity/sample.h"

namespace spillway::app {

/// A recording: one sample a line (capacity/sample_text.h), at_ns in wall time, empty lines
/// ignored.
struct RecordedSamples {
  std::vector<capacity::Sample> samples;  ///< In the order of time; of one time, of the lines.
  size_t bad_lines = 0;                   ///< Left out.
  std::string first_problem;              ///< "line 7: bad_number at key weight, byte 120".
};

/// More are not read; 2 GiB of memory.
inline constexpr size_t kMostSamples = 5'000'000;

/// Reads to the end of `lines`, or kMostSamples.
[[nodiscard]] RecordedSamples read_samples(std::istream& lines);

}  // namespace spillway::app
