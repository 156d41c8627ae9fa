#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "adapters/cpu_reader.h"
#include "adapters/load_text.h"
#include "base/result.h"
#include "base/time.h"
#include "capacity/reading.h"

namespace spillway::app::agent {

struct MeterCounts {
  std::array<uint64_t, adapters::kCpuErrors> cpu_errors{};    ///< By CpuErrc.
  std::array<uint64_t, adapters::kLoadErrors> load_errors{};  ///< By LoadErrc.
  uint64_t restarts = 0;  ///< The served process's counts went backwards.
};

/// Makes readings of what the processor's and the server's counters say, window by window. Knows
/// since when the server serves: a process whose counts stand at nothing, or began anew, is a
/// newcomer; one found at work is not.
///
/// What cannot be read is said so in the reading, never guessed: a server that does not tell its
/// counts has no sensor, as a dead process has plenty of idle CPU. One thread.
class Meter {
 public:
  using Cpu = base::Result<adapters::CpuWindow, adapters::CpuErrc>;
  using Load = base::Result<adapters::LoadCounts, adapters::LoadErrc>;

  /// `counts_requests`: false when nobody tells: CPU alone.
  explicit Meter(bool counts_requests) : counts_requests_(counts_requests) {}

  /// One tick. `load`: of now; absent when nobody tells or the last answer has not come.
  [[nodiscard]] capacity::Reading read(base::Instant now, const Cpu& cpu,
                                       const std::optional<Load>& load);

  /// The last counts; none before the first.
  [[nodiscard]] const std::optional<adapters::LoadCounts>& load() const { return last_load_; }

  /// The last window of the processor; all zero before the first.
  [[nodiscard]] const adapters::CpuWindow& cpu() const { return last_cpu_; }

  /// The server was found at work when this process began.
  [[nodiscard]] bool found_serving() const { return found_serving_; }

  /// Nothing was in flight and nothing came between the last two answers.
  [[nodiscard]] bool is_quiet() const { return is_quiet_; }

  /// The server serves since then, as a newcomer. Not said of one that was found at work.
  void begin_serving(base::Instant now) { serving_since_ = now; }

  [[nodiscard]] const MeterCounts& counts() const { return counts_; }

 private:
  void take_cpu(const Cpu& cpu, capacity::Reading& out);
  void take_load(base::Instant now, const Load& load, capacity::Reading& out);

  bool counts_requests_;
  bool found_serving_ = false;
  bool is_quiet_ = false;
  std::optional<adapters::LoadCounts> last_load_;
  base::Instant load_at_{};
  adapters::CpuWindow last_cpu_;
  std::optional<base::Instant> serving_since_;
  MeterCounts counts_;
};

}  // namespace spillway::app::agent
