#include "app/exchange/recorder.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
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

TEST(Recorder, CountsWhatAFullDiskLostAndSaysNoneOfItWasWritten) {
  Recorder recorder({.path = "/dev/full", .sample_ratio = 1, .queue = 16}, 1);
  ASSERT_EQ(recorder.error(), "");
  recorder.note_snapshot(7, "dsps: []");
  recorder.offer(0, recorder.blank(0));
  while (recorder.lost() == 0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(recorder.lost(), 1U);
  EXPECT_EQ(recorder.written(), 0U);
  EXPECT_GE(recorder.write_errors(), 1U);
}

// While it lives, files do not grow beyond `bytes`: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &small);
  }

  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(Recorder, AfterAFullDiskItsLogCanBeReadAgain) {
  const auto path = temporary_path();
  {
    Recorder recorder({.path = path, .sample_ratio = 1, .queue = 64}, 1);
    const auto offer = [&recorder](std::string_view request) {
      auto record = recorder.blank(0);
      record->snapshot_hash = 7;
      record->request = request;
      recorder.offer(0, std::move(record));
    };
    {
      const FullDisk disk(20);
      recorder.note_snapshot(7, "dsps: []");
      offer("lost");
      while (recorder.lost() == 0) {
        std::this_thread::yield();
      }
    }
    offer("kept");
  }
  const auto log = read_whole_file(path, 1 << 20);
  ASSERT_TRUE(log);
  exchange::RecordReader reader(*log);
  bool has_configuration = false;
  std::vector<std::string> requests;
  while (!reader.at_end()) {
    const auto entry = reader.next();
    if (entry && entry->is_snapshot) {
      has_configuration = true;
    } else if (entry) {
      EXPECT_TRUE(has_configuration);
      requests.push_back(entry->record.request);
    }
  }
  EXPECT_EQ(requests, std::vector<std::string>{"kept"});
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
