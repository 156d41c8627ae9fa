#include <cmath>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "capacity/sample.h"
#include "capacity/sample_text.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {
namespace {

RC_GTEST_PROP(SampleTextProperties, AnyPlausibleSampleSurvives, (std::string id, uint64_t seed)) {
  constexpr base::Instant kReference{std::chrono::hours(7)};
  base::Rng rng(seed);
  Sample sample;
  sample.id = id.substr(0, kLongestName);
  sample.capacity = rng.uniform(0, 1e9);
  sample.utilization = rng.uniform();
  sample.weight = rng.uniform(0, 256);
  sample.p95_ms = std::exp(rng.uniform(-300, 16));
  sample.state = static_cast<ServerState>(rng.below(4));
  sample.sequence = rng.next();
  sample.started_at_ms = rng.next();
  sample.taken_at = kReference + base::Duration(static_cast<int64_t>(rng.below(1U << 31)));
  RC_PRE(plausible(sample).has_value());
  std::string text;
  append_text(text, sample, kReference);
  const auto read = parse_text(text, kReference);
  RC_ASSERT(read.has_value());
  std::string again;
  append_text(again, *read, kReference);
  RC_ASSERT(again == text);
  RC_ASSERT(read->id == sample.id);
  RC_ASSERT(read->capacity == sample.capacity);
  RC_ASSERT(read->p95_ms == sample.p95_ms);
  RC_ASSERT(read->taken_at == sample.taken_at);
}

}  // namespace
}  // namespace spillway::capacity
