#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"
#include "bidder/caps/keys.h"
#include "bidder/caps/segments.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"

namespace spillway::app::bidding {

/// Whom a worker's stores answer that could not answer at once. `tag`: a Flight's.
class StoreListener {
 public:
  virtual void on_segments(uint64_t tag, const bidder::caps::Segments& segments) = 0;
  virtual void on_counts(uint64_t tag,
                         std::optional<std::span<const bidder::caps::CapCounts>> counts) = 0;

 protected:
  ~StoreListener() = default;
};

/// One worker's way to what is known of users beyond this process. Each question is answered at
/// once, or later through the listener, at most once and never after its cancel. One thread.
class Stores {
 public:
  Stores() = default;
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;
  virtual ~Stores() = default;

  /// On the worker's thread, before anything is asked.
  virtual void start() = 0;

  [[nodiscard]] virtual bool has_segments() const = 0;
  [[nodiscard]] virtual bool has_counts() const = 0;

  /// The answer, valid until the next call; or nothing: later.
  virtual std::optional<bidder::caps::Segments> segments(const bidder::caps::UserHash& user,
                                                         base::Instant until, uint64_t tag) = 0;

  struct Counts {
    bool later = false;
    std::optional<std::span<const bidder::caps::CapCounts>> counts;  ///< None: could not ask.
  };

  virtual Counts counts(const bidder::caps::UserHash& user,
                        std::span<const bidder::caps::CapKey> keys, base::Instant until,
                        uint64_t tag) = 0;

  /// Nobody waits any more.
  virtual void cancel(uint64_t tag) = 0;

  /// An impression was shown; false: it cannot be taken now, and is to be told again.
  [[nodiscard]] virtual bool won(const bidder::caps::UserHash& user,
                                 const bidder::caps::Impression& impression,
                                 std::span<const bidder::caps::CapKey> keys, int64_t unix_s) = 0;

  /// While above 0 nothing is asked twice.
  virtual void set_shed_level(uint8_t level) = 0;

  /// Copies counts to where scrapes read them; called now and then.
  virtual void publish() = 0;

  /// Wins not written yet.
  [[nodiscard]] virtual size_t waiting() const = 0;
};

}  // namespace spillway::app::bidding
