#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/counter.h"
#include "base/result.h"
#include "bidder/pacing/local_grant.h"

namespace spillway::app::bidding {

/// What was spent, as the text of a file: a line a campaign and day, and at the end how many and
/// their hash.
[[nodiscard]] std::string spend_text(std::span<const bidder::Spent> spent);

/// Reads that back; the error is one sentence. Nothing is believed of a text that is not whole.
[[nodiscard]] base::Result<std::vector<bidder::Spent>, std::string> read_spend_text(
    std::string_view text);

/// The file in which a process leaves what it has spent to the next one. Written whole to a name
/// beside it and put in place, so that it is always one of the two, whenever the process dies. A
/// thread of its own writes; nobody waits for a disk.
///
/// Threads: one thread calls; the counters from any.
class SpendFile {
 public:
  /// Told when writing begins to fail (the errno) and when it works again (0), not of each try. On
  /// the writing thread, at the latest in the destructor.
  using OnChange = std::function<void(int error)>;

  explicit SpendFile(std::string path, OnChange on_change = {});
  SpendFile(const SpendFile&) = delete;
  SpendFile& operator=(const SpendFile&) = delete;
  ~SpendFile();  ///< Writes what was given last.

  /// Without a file there is nothing spent. An error: it cannot be read, or is none of ours.
  [[nodiscard]] base::Result<std::vector<bidder::Spent>, std::string> read() const;

  /// To be written soon; what still waits of an earlier call is not written any more.
  void write(std::vector<bidder::Spent> spent);

  [[nodiscard]] uint64_t written() const { return written_.value(); }

  [[nodiscard]] uint64_t failures() const { return failures_.value(); }

 private:
  void run();
  void note(int error);
  [[nodiscard]] int put_in_place(std::string_view text) const;

  std::string path_;
  OnChange on_change_;
  bool fails_ = false;        ///< The last writing did. Of the writing thread.
  int lock_ = -1;             ///< Of PATH.lock; -1 where none can be made, as nothing can be then.
  bool is_anothers_ = false;  ///< Another process, or object, has the lock.
  base::Counter written_, failures_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<std::vector<bidder::Spent>> next_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace spillway::app::bidding
