#include "app/balance/samples_file.h"

#include <algorithm>
#include <cstddef>
#include <istream>
#include <string>
#include <utility>

#include "base/time.h"
#include "capacity/sample.h"
#include "capacity/sample_text.h"

namespace spillway::app {

RecordedSamples read_samples(std::istream& lines) {
  RecordedSamples recorded;
  std::string line;
  for (size_t number = 1; recorded.samples.size() < kMostSamples && std::getline(lines, line);
       ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    auto sample = capacity::parse_text(line, base::Instant{});
    if (sample) {
      recorded.samples.push_back(std::move(*sample));
      continue;
    }
    ++recorded.bad_lines;
    if (recorded.first_problem.empty()) {
      recorded.first_problem =
          "line " + std::to_string(number) + ": " + capacity::to_string(sample.error());
    }
  }
  std::stable_sort(
      recorded.samples.begin(), recorded.samples.end(),
      [](const capacity::Sample& a, const capacity::Sample& b) { return a.taken_at < b.taken_at; });
  return recorded;
}

}  // namespace spillway::app
