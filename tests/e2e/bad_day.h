#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/demo/child_process.h"
#include "e2e/exchange_process.h"
#include "e2e/scrapes.h"

namespace spillway::e2e {

/// One line of the exchange's log that says that a circuit or an alert changed.
struct Change {
  Clock::time_point at;  ///< When it was read.
  std::string dsp;
  std::string what;  ///< A state, or "useless_bids raised", …
};

/// The exchange among a farm of DSPs that go wrong on order, and callers at a steady rate: all of
/// them the real programs, on free ports. Ends them.
///
/// On a shared machine the three are asked to go before others (nice -10, where permitted): what is
/// measured is the exchange, not the neighbours.
class BadDay {
 public:
  struct Dsp {
    std::string name;
    std::string more;    ///< YAML beside the farm's `name`, with a leading comma.
    bool apart = false;  ///< In a second farm: what the first one has to do does not delay it.
  };

  BadDay(const std::vector<Dsp>& dsps, std::string_view exchange_yaml,
         std::string_view exchange_keys = "");
  ~BadDay();
  BadDay(const BadDay&) = delete;
  BadDay& operator=(const BadDay&) = delete;

  /// Empty, or what did not start.
  [[nodiscard]] const std::string& error() const { return error_; }

  void start_load(int rate, std::string_view more = "");

  /// Ends the load and returns its report, JSON.
  std::string end_load();

  /// Body of the farm's fault call; false when the farm refuses it.
  [[nodiscard]] bool inject(std::string_view dsp, std::string_view call) const;
  void clear_all() const;

  /// Reads what the programs say until `holds` of a fresh scrape, or `patience` is out.
  template <typename Condition>
  bool until(std::chrono::milliseconds patience, Condition holds) {
    const auto deadline = Clock::now() + patience;
    auto next_scrape = Clock::now();
    while (Clock::now() < deadline) {
      read_events();
      if (Clock::now() < next_scrape) {
        continue;
      }
      next_scrape = Clock::now() + std::chrono::milliseconds(500);
      scrape();
      if (holds(now_)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] const Metrics& last_scrape() const { return now_; }

  /// Deadline misses of the exchange, but for those between two scrapes in which one of its threads
  /// was ready and kept from a processor for longer than the margin, by the kernel's own account:
  /// the neighbours' doing. Where the kernel keeps no account nothing is excused.
  [[nodiscard]] double misses() const { return misses_; }

  [[nodiscard]] double excused_misses() const { return excused_; }

  /// What the exchange keeps back from tmax here, so that it bears sharing two processors with
  /// farm, load and whatever else runs.
  static constexpr std::chrono::milliseconds kMargin{40};

  [[nodiscard]] const std::vector<Change>& changes() const { return changes_; }

  /// Whether, and how long after `since`, `dsp` changed to `what`: seconds, or -1.
  [[nodiscard]] double seconds_to(std::string_view dsp, std::string_view what,
                                  Clock::time_point since) const;

  [[nodiscard]] ExchangeProcess& exchange() { return *exchange_; }

 private:
  void read_events();
  void scrape();

  /// One farm process.
  struct Farm {
    TemporaryFile config;
    uint16_t admin = 0;
    std::unique_ptr<app::ChildProcess> process;
  };

  bool start_farm(Farm& farm, const std::vector<Dsp>& dsps);

  int niceness_;
  std::map<std::string, uint16_t> ports_;
  Farm sick_;
  Farm sound_;
  std::unique_ptr<ExchangeProcess> exchange_;
  std::unique_ptr<app::ChildProcess> load_;
  std::string report_;
  std::string error_;
  std::vector<Change> changes_;
  Metrics now_;
  std::optional<ProcessorWaits> waits_;  ///< Of the exchange.
  double misses_ = 0;
  double excused_ = 0;
};

}  // namespace spillway::e2e
