#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "app/config/exchange_config.h"
#include "app/exchange/spsc_ring.h"
#include "base/counter.h"
#include "exchange/record.h"

namespace spillway::app {

/// The auction log's writer: workers hand over whole records, a thread of its own encodes and
/// writes them. Nobody waits for it: a record that finds its worker's queue full, or more than
/// kQueuedBytes waiting, is dropped and counted. A write that fails (a full disk) loses its batch,
/// counted; the next is tried all the same, and the configurations it needs are written again.
///
/// Threads: blank, offer from the worker named; note_snapshot from one thread; the rest from any.
/// Memory: `queue` records a worker, kQueuedBytes of bodies.
class Recorder {
 public:
  static constexpr size_t kQueuedBytes = size_t{64} << 20;

  /// Opens the log for appending; with an empty path it records nothing.
  Recorder(const RecorderSettings& settings, uint32_t workers);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();  ///< Writes what is queued.

  /// Empty, or one sentence with the path and the system's reason.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] bool enabled() const { return file_ != nullptr; }

  /// Whether an auction with this seed is in the sample.
  [[nodiscard]] bool samples(uint64_t seed) const;

  /// An empty record, a used one's memory when there is one.
  std::unique_ptr<exchange::Record> blank(uint32_t worker);

  void offer(uint32_t worker, std::unique_ptr<exchange::Record> record);

  /// A configuration is about to be used. Before the first offer of a record made under it.
  void note_snapshot(uint64_t hash, std::string_view text);

  [[nodiscard]] uint64_t dropped() const;

  [[nodiscard]] uint64_t written() const { return written_.value(); }

  /// Records of failed writes.
  [[nodiscard]] uint64_t lost() const { return lost_.value(); }

  [[nodiscard]] uint64_t write_errors() const { return write_errors_.value(); }

 private:
  struct Lane {
    explicit Lane(size_t capacity) : full(capacity), empty(capacity) {}

    SpscRing<std::unique_ptr<exchange::Record>> full, empty;
    std::atomic<size_t> queued_bytes{0};
    base::Counter dropped;
  };

  void run();
  bool write_some();

  double sample_ratio_;
  std::string error_;
  std::FILE* file_ = nullptr;
  std::vector<std::unique_ptr<Lane>> lanes_;
  base::Counter written_, lost_, write_errors_;
  std::string buffer_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::vector<std::pair<uint64_t, std::string>> new_snapshots_;
  std::unordered_set<uint64_t> known_snapshots_;
  std::thread thread_;
};

}  // namespace spillway::app
