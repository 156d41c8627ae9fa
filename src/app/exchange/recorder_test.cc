#include "app/exchange/recorder.h"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/config/config_file.h"
#include "app/exchange/spsc_ring.h"
#include "app/exchange/transport.h"
#include "exchange/record.h"

namespace spillway::app {
namespace {

std::string temporary_path() {
  char name[] = "/tmp/spillway_recorder_XXXXXX";
  ::close(::mkstemp(name));
  return name;
}

TEST(SpscRing, GivesBackInOrderAndRefusesWhenFull) {
  SpscRing<int> ring(4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(ring.push(int{i}));
  }
  EXPECT_FALSE(ring.push(4));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ring.pop(), i);
  }
  EXPECT_EQ(ring.pop(), std::nullopt);
}

TEST(Recorder, WritesEachConfigurationOnceAndBeforeItsAuctions) {
  const auto path = temporary_path();
  {
    Recorder recorder({.path = path, .sample_ratio = 1, .queue = 64}, 1);
    ASSERT_EQ(recorder.error(), "");
    for (int i = 0; i < 10; ++i) {
      recorder.note_snapshot(7, "dsps: []");
      auto record = recorder.blank(0);
      record->snapshot_hash = 7;
      record->request = "{}";
      recorder.offer(0, std::move(record));
    }
  }
  const auto log = read_whole_file(path, 1 << 20);
  ASSERT_TRUE(log);
  exchange::RecordReader reader(*log);
  const auto first = reader.next();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_snapshot);
  EXPECT_EQ(first->snapshot_text, "dsps: []");
  int records = 0;
  while (!reader.at_end()) {
    const auto entry = reader.next();
    ASSERT_TRUE(entry);
    EXPECT_FALSE(entry->is_snapshot);
    EXPECT_EQ(entry->record.request, "{}");
    ++records;
  }
  EXPECT_EQ(records, 10);
  ::unlink(path.c_str());
}

TEST(Recorder, DropsAndCountsWhatIsTooMuchAndNeverWaits) {
  const auto path = temporary_path();
  Recorder recorder({.path = path, .sample_ratio = 1, .queue = 16}, 1);
  uint64_t offered = 0;
  for (; recorder.dropped() == 0 && offered < 1000; ++offered) {
    auto record = recorder.blank(0);
    record->request.assign(Recorder::kQueuedBytes / 4, 'x');
    recorder.offer(0, std::move(record));
  }
  EXPECT_GE(recorder.dropped(), 1U);
  EXPECT_LT(offered, 1000U);
  ::unlink(path.c_str());
}

TEST(Recorder, TakesTheShareAskedForAndNothingWithoutAPath) {
  const auto path = temporary_path();
  const Recorder tenth({.path = path, .sample_ratio = 0.1, .queue = 16}, 1);
  int taken = 0;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    taken += tenth.samples(seed) ? 1 : 0;
  }
  EXPECT_NEAR(taken, 1000, 150);
  const Recorder none({}, 1);
  EXPECT_FALSE(none.samples(1));
  const Recorder broken({.path = "/nonexistent/x", .sample_ratio = 1, .queue = 16}, 1);
  EXPECT_NE(broken.error().find("/nonexistent/x"), std::string::npos);
  ::unlink(path.c_str());
}

TEST(Transport, TakesJsonTextAndNothingNamedAsJson) {
  for (const char* type :
       {"", "application/json", "application/json; charset=utf-8", "text/plain"}) {
    EXPECT_TRUE(speaks_json(type)) << type;
  }
  for (const char* type : {"application/x-protobuf", "Application/Avro", "avro/binary"}) {
    EXPECT_FALSE(speaks_json(type)) << type;
  }
}

}  // namespace
}  // namespace spillway::app
