#include "bidder/caps/segments.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bidder/caps/user.h"
#include "resilience/checker.h"
#include "resilience/problem.h"

namespace spillway::bidder::caps {

namespace {

constexpr uint64_t kOverhead = 160;  ///< Of an entry: itself, its node and its share of the table.

}  // namespace

std::vector<resilience::Problem> validate(const SegmentCacheSettings& settings) {
  resilience::Checker check;
  check.within("bytes", settings.bytes, uint64_t{64} << 10, uint64_t{16} << 30);
  check.within("ttl", settings.ttl, std::chrono::seconds(1), std::chrono::hours(1));
  check.within("unknown_ttl", settings.unknown_ttl, base::Duration::zero(), std::chrono::hours(1));
  check.within("max_waiting", uint64_t{settings.max_waiting}, 1, 1'000'000);
  return check.take();
}

SegmentCache::SegmentCache(const SegmentCacheSettings& settings) : settings_(settings) {}

SegmentCache::Entry* SegmentCache::find(const UserHash& user) {
  const auto found = index_.find(user);
  return found == index_.end() ? nullptr : &order_[found->second - first_serial_];
}

SegmentCache::Look SegmentCache::look(const UserHash& user, uint64_t tag, base::Instant now,
                                      Segments& segments) {
  if (const Entry* const entry = find(user); entry != nullptr) {
    if (now < entry->expires) {
      ++counters_.hits;
      segments = {.state = entry->state, .ids = entry->ids};
      return Look::kHit;
    }
    ++counters_.expired;
  }
  const auto [read, is_first] = reads_.try_emplace(user);
  if (is_first) {
    ++counters_.reads;
    return Look::kRead;
  }
  if (waiting_ >= settings_.max_waiting) {
    ++counters_.too_many;
    return Look::kFull;
  }
  read->second.push_back(tag);
  ++waiting_;
  ++counters_.joined;
  return Look::kWait;
}

void SegmentCache::on_answer(const UserHash& user, const Segments& answer, base::Instant now,
                             std::vector<uint64_t>& waited) {
  if (const auto read = reads_.find(user); read != reads_.end()) {
    waited.insert(waited.end(), read->second.begin(), read->second.end());
    waiting_ -= read->second.size();
    reads_.erase(read);
  }
  switch (answer.state) {
    case SegmentState::kCouldNotAsk:
      ++counters_.could_not_ask;  // Never remembered: the next request asks again.
      return;
    case SegmentState::kNoSuchUser:
      ++counters_.no_such_user;
      keep(user, answer, now + settings_.unknown_ttl);
      return;
    case SegmentState::kKnown:
      keep(user, answer, now + settings_.ttl);
      return;
  }
}

void SegmentCache::keep(const UserHash& user, const Segments& answer, base::Instant expires) {
  const uint64_t charge = kOverhead + answer.ids.size();
  if (charge > settings_.bytes / 8) {
    ++counters_.too_large;
    return;
  }
  if (Entry* const old = find(user); old != nullptr) {
    used_ -= old->ids.size();
    old->ids = std::string();  // Its place in the order goes with its turn.
  }
  while (used_ + charge > settings_.bytes) {
    drop_oldest();
  }
  index_[user] = first_serial_ + order_.size();
  order_.push_back(
      {.user = user, .ids = std::string(answer.ids), .state = answer.state, .expires = expires});
  used_ += charge;
}

void SegmentCache::drop_oldest() {
  const Entry& oldest = order_.front();
  if (const auto found = index_.find(oldest.user);
      found != index_.end() && found->second == first_serial_) {
    index_.erase(found);
    ++counters_.evicted;
  }
  used_ -= kOverhead + oldest.ids.size();
  order_.pop_front();
  ++first_serial_;
}

}  // namespace spillway::bidder::caps
