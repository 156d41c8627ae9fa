#include "app/exchange/recorder.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/exchange_config.h"
#include "base/hash.h"
#include "exchange/record.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

// A record waits this long at most before it is looked for; the worker wakes nobody.
constexpr auto kLook = 20ms;
constexpr size_t kRecordsAtOnce = 256;

size_t bytes_of(const exchange::Record& record) {
  return sizeof(record) + record.request.size() + record.reply.size() + record.bodies.size() +
         record.answers.size() * sizeof(exchange::Record::AnswerInput);
}

}  // namespace

Recorder::Recorder(const RecorderSettings& settings, uint32_t workers)
    : sample_ratio_(settings.sample_ratio) {
  if (settings.path.empty()) {
    return;
  }
  file_ = std::fopen(settings.path.c_str(), "ab");
  if (file_ == nullptr) {
    error_ =
        fmt::format("cannot open {}: {}", settings.path, std::generic_category().message(errno));
    return;
  }
  std::setvbuf(file_, nullptr, _IONBF, 0);  // batches are large; what is counted is written
  for (uint32_t worker = 0; worker < workers; ++worker) {
    lanes_.push_back(std::make_unique<Lane>(settings.queue));
  }
  thread_ = std::thread([this] { run(); });
}

Recorder::~Recorder() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  if (file_ != nullptr) {
    std::fclose(file_);
  }
}

bool Recorder::samples(uint64_t seed) const {
  constexpr uint64_t kPurpose = 0x7265636f72646572;  // apart from other uses of the seed
  return file_ != nullptr && base::unit(base::combine64(seed, kPurpose)) < sample_ratio_;
}

std::unique_ptr<exchange::Record> Recorder::blank(uint32_t worker) {
  auto used = lanes_[worker]->empty.pop();
  return used ? std::move(*used) : std::make_unique<exchange::Record>();
}

void Recorder::offer(uint32_t worker, std::unique_ptr<exchange::Record> record) {
  Lane& lane = *lanes_[worker];
  const size_t bytes = bytes_of(*record);
  if (lane.queued_bytes.load(std::memory_order_relaxed) + bytes > kQueuedBytes) {
    lane.dropped.add();
    return;
  }
  lane.queued_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (!lane.full.push(std::move(record))) {
    lane.queued_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    lane.dropped.add();
  }
}

void Recorder::note_snapshot(uint64_t hash, std::string_view text) {
  if (file_ == nullptr || !known_snapshots_.insert(hash).second) {
    return;
  }
  const std::lock_guard lock(mutex_);
  new_snapshots_.emplace_back(hash, text);
}

uint64_t Recorder::dropped() const {
  uint64_t sum = 0;
  for (const auto& lane : lanes_) {
    sum += lane->dropped.value();
  }
  return sum;
}

void Recorder::run() {
  while (true) {
    while (write_some()) {
    }
    std::unique_lock lock(mutex_);
    if (stopping_) {
      lock.unlock();
      while (write_some()) {
      }
      return;
    }
    wake_.wait_for(lock, kLook);
  }
}

// Records are taken before the snapshots that they may be the first to use, and written after.
// Whether there may be more to write now.
bool Recorder::write_some() {
  std::vector<std::pair<uint32_t, std::unique_ptr<exchange::Record>>> batch;
  for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    for (size_t i = 0; i < kRecordsAtOnce; ++i) {
      auto record = lanes_[lane]->full.pop();
      if (!record) {
        break;
      }
      batch.emplace_back(lane, std::move(*record));
    }
  }
  std::vector<std::pair<uint64_t, std::string>> snapshots;
  {
    const std::lock_guard lock(mutex_);
    snapshots.swap(new_snapshots_);
  }
  buffer_.clear();
  for (const auto& [hash, text] : snapshots) {
    exchange::append_snapshot(buffer_, hash, text);
  }
  for (auto& [lane, record] : batch) {
    exchange::append_record(buffer_, *record);
    lanes_[lane]->queued_bytes.fetch_sub(bytes_of(*record), std::memory_order_relaxed);
    record->clear();
    (void)lanes_[lane]->empty.push(std::move(record));
  }
  if (buffer_.empty()) {
    return false;
  }
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) == buffer_.size()) {
    written_.add(batch.size());
    return true;
  }
  std::clearerr(file_);
  write_errors_.add();
  lost_.add(batch.size());
  // Later records need these all the same.
  const std::lock_guard lock(mutex_);
  new_snapshots_.insert(new_snapshots_.begin(), std::make_move_iterator(snapshots.begin()),
                        std::make_move_iterator(snapshots.end()));
  return false;
}

}  // namespace spillway::app
