#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "bidder/caps/user.h"
#include "resilience/problem.h"

namespace spillway::bidder::caps {

/// What is known about a user's segments. The three "no"s are different things: could not ask
/// matches no campaign that targets segments and is never remembered; so does no such user, which
/// is remembered; a known user with an empty list is a user with no segments.
enum class SegmentState : uint8_t { kCouldNotAsk, kNoSuchUser, kKnown };

/// `ids` are segment ids as text, one a line, in the order of the store; no duplicates expected.
struct Segments {
  SegmentState state = SegmentState::kCouldNotAsk;
  std::string_view ids;

  /// Calls `each(std::string_view id)`.
  template <typename Each>
  void for_each(Each each) const {
    for (std::string_view rest = ids; !rest.empty();) {
      const size_t end = rest.find('\n');
      const std::string_view id = rest.substr(0, end);
      if (!id.empty()) {
        each(id);
      }
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
};

struct SegmentCacheSettings {
  /// Memory of one worker. Larger: fewer reads. [64 KiB, 16 GiB].
  uint64_t bytes = uint64_t{32} << 20;
  base::Duration ttl = std::chrono::seconds(60);          ///< [1 s, 1 h].
  base::Duration unknown_ttl = std::chrono::seconds(10);  ///< Of "no such user". [0, 1 h].
  uint32_t max_waiting = 4096;  ///< Requests that wait for somebody else's read. [1, 1 000 000].
};

/// Every broken rule; empty when sound.
[[nodiscard]] std::vector<resilience::Problem> validate(const SegmentCacheSettings& settings);

struct SegmentCacheCounters {
  uint64_t hits = 0;
  uint64_t reads = 0;     ///< Asked the store.
  uint64_t joined = 0;    ///< Waited for a read under way.
  uint64_t too_many = 0;  ///< Went on without: too many wait.
  uint64_t could_not_ask = 0;
  uint64_t no_such_user = 0;  ///< Answers of the store.
  uint64_t evicted = 0;
  uint64_t expired = 0;
  uint64_t too_large = 0;  ///< Answers over 1/8 of `bytes`: used, not kept.
};

/// One worker's memory of its users' segments, with one read a user at a time. What was written
/// first goes first, which is about when it expires. Allocates on misses only. One thread.
class SegmentCache {
 public:
  explicit SegmentCache(const SegmentCacheSettings& settings);

  enum class Look : uint8_t {
    kHit,   ///< `segments` is the answer; its view lasts until the next call of any method.
    kRead,  ///< Nobody asks yet: the caller reads the store and tells on_answer().
    kWait,  ///< A read is under way: `tag` will be among those it answers.
    kFull,  ///< Too many wait: go on without.
  };

  [[nodiscard]] Look look(const UserHash& user, uint64_t tag, base::Instant now,
                          Segments& segments);

  /// The read of `user` has ended, in whatever way. Remembers it, unless it could not ask, and
  /// appends the tags that waited (not the one that read).
  void on_answer(const UserHash& user, const Segments& answer, base::Instant now,
                 std::vector<uint64_t>& waited);

  [[nodiscard]] const SegmentCacheCounters& counters() const { return counters_; }

  [[nodiscard]] size_t entries() const { return index_.size(); }

 private:
  struct Hash {
    size_t operator()(const UserHash& user) const { return user.low; }
  };

  struct Entry {
    UserHash user;
    std::string ids;
    SegmentState state = SegmentState::kNoSuchUser;
    base::Instant expires{};
  };

  [[nodiscard]] Entry* find(const UserHash& user);
  void keep(const UserHash& user, const Segments& answer, base::Instant expires);
  void drop_oldest();

  SegmentCacheSettings settings_;
  SegmentCacheCounters counters_;
  uint64_t used_ = 0;  ///< Bytes charged.
  std::deque<Entry> order_;
  uint64_t first_serial_ = 0;                           ///< Of order_.front().
  std::unordered_map<UserHash, uint64_t, Hash> index_;  ///< Serial of the entry that counts.
  std::unordered_map<UserHash, std::vector<uint64_t>, Hash> reads_;  ///< Under way; who waits.
  size_t waiting_ = 0;
};

}  // namespace spillway::bidder::caps
