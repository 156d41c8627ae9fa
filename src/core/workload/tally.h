#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/call_result.h"
#include "base/counter.h"
#include "base/time.h"
#include "openrtb/document.h"
#include "workload/latency_histogram.h"

namespace spillway::workload {

/// What an exchange's answer was worth.
enum class AnswerKind : uint8_t {
  kBid,      ///< At least one bid that is not a house ad.
  kHouse,    ///< Bids, all of them with ext.house 1.
  kNoBid,    ///< 204, or 200 without bids.
  kInvalid,  ///< 200 that is no bid response.
  kError,    ///< Any other status.
  kNone,     ///< No whole answer.
};

inline constexpr size_t kAnswerKinds = 6;

[[nodiscard]] std::string_view to_string(AnswerKind kind);

/// Reads an answer (Document::kPadding readable bytes behind `body`).
[[nodiscard]] AnswerKind kind_of(openrtb::Document& document, uint16_t status,
                                 std::string_view body);

/// How a request ended. The classes of a report; every one is in the percentiles.
enum class Ending : uint8_t { k2xx, k3xx, k4xx, k5xx, kTimeout, kRefused, kReset, kOther };

inline constexpr size_t kEndings = 8;

[[nodiscard]] std::string_view to_string(Ending ending);

[[nodiscard]] Ending ending_of(const base::CallResult& result);

/// One request from its due time to its end.
struct Sample {
  base::Instant due{};
  base::Instant sent{};
  base::Instant ended{};
  uint16_t status = 0;
  Ending ending = Ending::kOther;
  AnswerKind answer = AnswerKind::kNone;
  base::Duration tmax{};  ///< What the request allowed; zero: it did not say.
  bool valid = true;      ///< False: broken on purpose, a 4xx is the right answer.

  /// No 2xx or 3xx, nor a 4xx that was wanted.
  [[nodiscard]] bool failed() const {
    return ending != Ending::k2xx && ending != Ending::k3xx && (valid || ending != Ending::k4xx);
  }

  [[nodiscard]] base::Duration latency() const { return ended - due; }

  [[nodiscard]] base::Duration lag() const { return sent - due; }

  /// No whole answer within tmax of the sending: the server's miss, whatever our own lag.
  [[nodiscard]] bool over_tmax() const {
    return tmax > base::Duration::zero() && (status == 0 || ended - sent > tmax);
  }
};

/// The statistics of a run. Latency counts from when the request was due, not from when it could be
/// sent: a stalled server cannot hide the requests that waited for it. Failures are in the
/// percentiles with the time they took. Arrivals that were never sent have no latency; they are
/// counted, reported first, and fail the run.
///
/// One writer, any number of readers. About 140 KiB.
/// Source: Tene, "How NOT to Measure Latency" (coordinated omission).
class Tally {
 public:
  static constexpr size_t kStatuses = 1000;

  /// A request sent later than `late_after` its due time is late.
  explicit Tally(base::Duration late_after) : late_after_(late_after) {}

  ~Tally() = default;

  Tally(const Tally& other) : late_after_(other.late_after_) { merge(other); }

  Tally& operator=(const Tally&) = delete;

  /// An arrival came due.
  void offer() { offered_.add(); }

  /// A due arrival was not sent: no connection left under the cap.
  void drop() { dropped_.add(); }

  /// A sent request has ended, however it did.
  void record(const Sample& sample);

  /// Adds another's: for sums over workers, made in a private copy.
  void merge(const Tally& other);

  [[nodiscard]] uint64_t offered() const { return offered_.value(); }

  [[nodiscard]] uint64_t dropped() const { return dropped_.value(); }

  [[nodiscard]] uint64_t late() const { return late_.value(); }

  [[nodiscard]] uint64_t ended() const { return ended_.value(); }

  /// Of the ended: Sample::failed, Sample::over_tmax, and those broken on purpose.
  [[nodiscard]] uint64_t failed() const { return failed_.value(); }

  [[nodiscard]] uint64_t over_tmax() const { return over_tmax_.value(); }

  [[nodiscard]] uint64_t broken() const { return broken_.value(); }

  [[nodiscard]] uint64_t answers(AnswerKind kind) const {
    return answers_[static_cast<size_t>(kind)].value();
  }

  /// (late + dropped) / offered, failed / ended, bids / ended; 0 before the first.
  [[nodiscard]] double missed_ratio() const;
  [[nodiscard]] double error_ratio() const;
  [[nodiscard]] double bid_ratio() const;

  /// From due to end: all, and by class.
  [[nodiscard]] const LatencyHistogram& latency() const { return all_; }

  [[nodiscard]] const LatencyHistogram& latency(Ending ending) const {
    return by_ending_[static_cast<size_t>(ending)];
  }

  /// From due to sent: what the generator itself was late by.
  [[nodiscard]] const LatencyHistogram& lag() const { return lag_; }

  /// Whole answers of an HTTP status; requires status < kStatuses.
  [[nodiscard]] uint64_t status(size_t status) const { return statuses_[status].value(); }

 private:
  base::Duration late_after_;
  base::Counter offered_, dropped_, late_, ended_, failed_, over_tmax_, broken_;
  std::array<base::Counter, kAnswerKinds> answers_;
  LatencyHistogram all_, lag_;
  std::array<LatencyHistogram, kEndings> by_ending_;
  std::array<base::Counter, kStatuses> statuses_;
};

}  // namespace spillway::workload
