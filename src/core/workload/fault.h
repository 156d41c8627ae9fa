#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "workload/latency.h"

namespace spillway::workload {

/// What a partner can do wrong. docs/load_and_farm.md says for each what a guard should make of it.
enum class FaultKind : uint8_t {
  kSlow,            ///< Answers late: its latency is replaced, or `added` to; a leak when it grows.
  kHang,            ///< Accepts, reads, never answers.
  kReset,           ///< Resets the connection instead of answering.
  kServerError,     ///< "5xx": answers `status`.
  kOverload,        ///< "429": answers 429, with Retry-After when set.
  kGarbage,         ///< Bytes that are no bid response, or no HTTP at all (`raw`).
  kDrip,            ///< A few bytes at a time.
  kOversize,        ///< A body of `body_bytes`.
  kWrongImpid,      ///< Bids for an imp nobody offered.
  kWrongCurrency,   ///< Bids in a currency nobody asked for.
  kClosedListener,  ///< Refuses connections and drops those it has.
  kDeadButFast,     ///< Answers 204 to everything, at once.
  kBrownOut,        ///< Has only `servers` places to work in: slower the more it is asked.
};

inline constexpr size_t kFaultKinds = 13;

/// As written in configuration, metrics and documents: "slow", "5xx", "dead_but_fast", …
[[nodiscard]] std::string_view to_string(FaultKind kind);
[[nodiscard]] std::optional<FaultKind> fault_kind_of(std::string_view name);

/// One fault with its time and parameters. Unused parameters are ignored.
struct Fault {
  FaultKind kind = FaultKind::kSlow;
  base::Duration from{};                      ///< Since the partner's start.
  base::Duration to = base::Duration::max();  ///< Exclusive.
  base::Duration every{};    ///< Flapping: active for the first `on` of each. 0: all the time.
  base::Duration on{};       ///< (0, every).
  std::string host{};        ///< Only at this address of the partner. Empty: at all.
  double share_ratio = 1.0;  ///< Of calls hit, [0, 1]. Not for closed_listener.
  /// slow: instead of the usual one. brown_out: how long a call keeps a place; else the usual one.
  std::optional<Latency> latency = std::nullopt;
  base::Duration added{};     ///< slow: on top. `latency`, `added` or `added_to` must be set.
  base::Duration added_to{};  ///< slow: what `added` grows to, evenly, in the time `over`.
  base::Duration over{};
  uint32_t servers = 1;  ///< brown_out: calls worked on at once. [1, 10 000].
  /// brown_out: a call that would wait longer is answered 503 at once.
  base::Duration longest_wait = std::chrono::seconds(10);
  bool keeps_tmax = false;       ///< slow, brown_out: no-bid in time instead of an answer too late.
  uint16_t status = 503;         ///< 5xx. [500, 599].
  base::Duration retry_after{};  ///< 429 and 5xx: 0 sends no header.
  base::Duration drip_interval = std::chrono::milliseconds(100);  ///< [1 ms, 60 s].
  size_t drip_bytes = 1;                                          ///< A piece. [1, 64 KiB].
  size_t body_bytes = size_t{2} << 20;                            ///< oversize. [1 KiB, 64 MiB].
  bool raw = false;                                               ///< garbage: not even HTTP.
};

[[nodiscard]] std::vector<Problem> validate(const Fault& fault);

/// A fault that hits a call; false when there is none. Valid until the next inject or clear.
struct Hit {
  const Fault* fault = nullptr;
  base::Duration age{};  ///< Since the fault's start.

  explicit operator bool() const { return fault != nullptr; }

  const Fault* operator->() const { return fault; }
};

/// Which fault a partner has when: a fixed schedule, and faults an operator put in front of it.
/// The first active fault that hits (its share is drawn a call) wins, operator's first.
/// One thread owns it. Memory: at most kOperatorFaults beyond the schedule.
class FaultSchedule {
 public:
  static constexpr size_t kOperatorFaults = 64;

  FaultSchedule(const std::vector<Fault>& faults, base::Instant start);

  /// Adds a fault from `now` for `lasting` (kNever-like max(): until cleared); its own times are
  /// not used. Returns false when there are too many.
  bool inject(const Fault& fault, base::Instant now, base::Duration lasting);

  /// Ends all operator faults, and with `scheduled` the schedule too.
  void clear(bool scheduled);

  /// The fault of a call that comes to `host` at `now`.
  [[nodiscard]] Hit draw(base::Instant now, std::string_view host, base::Rng& rng) const;

  /// Whether the listener at `host` is open at `now`.
  [[nodiscard]] bool listening(base::Instant now, std::string_view host) const;

  /// Faults active at `now` at any host, operator's first.
  [[nodiscard]] std::vector<FaultKind> active(base::Instant now) const;

 private:
  struct Entry {
    Fault fault;
    base::Instant from;
    base::Instant to;

    [[nodiscard]] bool active(base::Instant now) const;
    [[nodiscard]] bool at(std::string_view host) const;
  };

  std::vector<Entry> operator_;
  std::vector<Entry> scheduled_;
};

}  // namespace spillway::workload
