#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace spillway::relay_floor {

/// DSPs of a process of their own (one epoll loop for all) that bid at once on every request: 1.00
/// plus a cent for each DSP's number, on imp "1". Every answer has the same length.
class Farm {
 public:
  explicit Farm(size_t dsps);
  Farm(const Farm&) = delete;
  Farm& operator=(const Farm&) = delete;
  ~Farm();  ///< Ends the process.

  [[nodiscard]] const std::vector<uint16_t>& ports() const { return ports_; }

  /// Requests answered, and their bytes, since the start.
  [[nodiscard]] uint64_t asks() const { return shared_->asks; }

  [[nodiscard]] uint64_t ask_bytes() const { return shared_->ask_bytes; }

  /// The first request the first DSP got since the start, whole.
  [[nodiscard]] std::string first_ask() const;

  /// What DSP `number` answers, whole.
  [[nodiscard]] static std::string answer_of(size_t number);

 private:
  /// In memory that farm and bench share.
  struct Shared {
    void note(size_t dsp, std::string_view ask);

    std::atomic<uint64_t> asks, ask_bytes, first_bytes;
    char first[65536];
  };

  std::vector<uint16_t> ports_;
  Shared* shared_ = nullptr;
  pid_t process_ = -1;
};

}  // namespace spillway::relay_floor
