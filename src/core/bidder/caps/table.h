#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "resilience/problem.h"

namespace spillway::bidder::caps {

struct CapTableSettings {
  /// Memory of all counters, 60 bytes each. Larger: local counts are forgotten later. [1 MiB, 64
  /// GiB].
  uint64_t bytes = uint64_t{64} << 20;
  /// How long a bid without a notice holds its places; it may be a quarter longer. Larger: users
  /// whose bids lose wait longer for the next. [1 s, 1 h].
  int64_t pending_s = 60;
};

/// Every broken rule; empty when sound.
[[nodiscard]] std::vector<resilience::Problem> validate(const CapTableSettings& settings);

/// Why a bid may not be made.
enum class CapRefusal : uint8_t {
  kCapped,  ///< shown + pending is at the limit.
  kFull,    ///< No memory for a counter: all of its neighbours hold places.
};

/// What reserve() gives, to be carried in the bid's signed notices: by it a win finds the place it
/// holds, or that this is gone.
using CapHold = uint32_t;

/// Any thread: a sum over stripes.
struct CapTableCounters {
  uint64_t reserved = 0;
  uint64_t capped = 0;
  uint64_t full = 0;
  uint64_t won = 0;
  uint64_t won_late = 0;  ///< The place had expired: shown all the same, beyond the cap perhaps.
  uint64_t released = 0;
  uint64_t expired = 0;   ///< Places given up for want of a notice.
  uint64_t evicted = 0;   ///< Counters forgotten for want of memory; what they knew is in Redis.
  uint64_t counters = 0;  ///< In use now.
};

/// What this process has promised and shown, user by user: pending + shown of every cap, so that
/// neither two imps of a request nor requests at the same time take the same last place. A bid
/// reserves one place under every limit it stands under, all or none; its win turns pending into
/// shown, its loss or the expiry of the hold releases.
///
/// `shown` is the larger of what this process saw win and what was learnt from Redis (learn), so
/// the invariant at every instant, in one process and for every counter, is
///
///     shown + pending <= max(most, shown)        and   wins on time never exceed `most`
///
/// With N instances on the same users each checks what it knows: beyond `most` go at most the
/// places that the other instances hold or won since the last learn(): <= (N - 1) · most in the
/// worst case, none when a user's requests all come to one instance.
///
/// All calls take 32 limits or keys at most, but learn() and allow_each() which take any number.
///
/// 256 stripes by user, each under a SpinLock; a section is at most a few hundred nanoseconds.
/// Memory: `bytes`, allocated at creation; sets of 16 counters, the one used longest ago without a
/// place goes first. Time is Unix seconds; a clock that steps back neither frees nor expires.
/// Any thread.
class CapTable {
 public:
  /// `settings` are sound (validate).
  explicit CapTable(const CapTableSettings& settings);
  CapTable(const CapTable&) = delete;
  CapTable& operator=(const CapTable&) = delete;
  ~CapTable();

  /// Places under all of `limits`, or under none. `known` is what Redis said about
  /// each, in the same order, or empty: it is learnt first.
  [[nodiscard]] base::Result<CapHold, CapRefusal> reserve(const UserHash& user,
                                                          std::span<const CapLimit> limits,
                                                          std::span<const CapCounts> known,
                                                          int64_t unix_s);

  /// Whether reserve() would give places now; takes none. For filtering candidates.
  [[nodiscard]] bool allows(const UserHash& user, std::span<const CapLimit> limits,
                            std::span<const CapCounts> known, int64_t unix_s) const;

  /// The same of each limit by itself, of any number of them: `allowed[i]` says whether limits[i]
  /// would give a place. One section for every 32.
  void allow_each(const UserHash& user, std::span<const CapLimit> limits,
                  std::span<const CapCounts> known, int64_t unix_s,
                  std::span<uint8_t> allowed) const;

  /// The impression was shown. Once for each reserve: who calls has recognised duplicates. False:
  /// the hold had expired.
  bool win(const UserHash& user, std::span<const CapKey> keys, CapHold hold, int64_t unix_s);

  /// The bid lost, or was never sent.
  void release(const UserHash& user, std::span<const CapKey> keys, CapHold hold, int64_t unix_s);

  /// Merges what was read by max.
  void learn(const UserHash& user, std::span<const CapKey> keys, std::span<const CapCounts> known,
             int64_t unix_s);

  /// shown and pending of one counter, for tests and explain; zero when it is not held.
  struct View {
    uint32_t shown = 0;
    uint32_t pending = 0;
  };

  [[nodiscard]] View view(const UserHash& user, const CapKey& key, int64_t unix_s) const;

  [[nodiscard]] CapTableCounters counters() const;

 private:
  struct Stripe;
  [[nodiscard]] Stripe& stripe_of(const UserHash& user) const;
  [[nodiscard]] uint32_t slice_at(int64_t unix_s) const;

  int64_t slice_s_;
  std::vector<std::unique_ptr<Stripe>> stripes_;
};

}  // namespace spillway::bidder::caps
