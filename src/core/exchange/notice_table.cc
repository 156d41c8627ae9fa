#include "exchange/notice_table.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "exchange/notice_device.h"
#include "exchange/notice_orders.h"
#include "openrtb/signed_url.h"

namespace spillway::exchange {

namespace {

void release(std::string& url, NoticeKind kind, DeviceLines device, std::vector<NoticeOrder>& due) {
  if (!url.empty()) {
    due.push_back({.kind = kind, .url = std::exchange(url, {}), .device = std::move(device)});
  }
}

}  // namespace

std::string_view to_string(EventEnd end) {
  switch (end) {
    case EventEnd::kTaken:
      return "taken";
    case EventEnd::kDuplicate:
      return "duplicate";
    case EventEnd::kUnknown:
      return "unknown";
  }
  return "";
}

size_t NoticeTable::Entry::bytes() const {
  constexpr size_t kNode = 64;  // of the map and the queue, about
  // Shared between an auction's bids, and counted for each: the last of them may outlive the rest.
  const size_t device_bytes = device != nullptr ? device->size() : 0;
  return sizeof(Entry) + sizeof(Key) * 2 + kNode + nurl.size() + burl.size() + device_bytes;
}

bool NoticeTable::drop_oldest() {
  const auto found = bids_.find(in_order_.front());
  in_order_.pop_front();
  const bool waits = found->second.waits();
  bytes_ -= found->second.bytes();
  bids_.erase(found);
  return waits;
}

void NoticeTable::set_bytes_max(base::Instant now, size_t bytes_max) {
  bytes_max_ = bytes_max;
  expire(now);
}

void NoticeTable::add(base::Instant now, WaitingBid bid) {
  const Key key{.auction = bid.auction, .imp = bid.imp};
  const auto [at, is_new] = bids_.try_emplace(key);
  if (!is_new) {
    return;
  }
  at->second = {.nurl = std::move(bid.nurl),
                .burl = std::move(bid.burl),
                .device = std::move(bid.device),
                .billed_on_win = bid.billed_on_win,
                .expires = now + bid.lifetime};
  bytes_ += at->second.bytes();
  in_order_.push_back(key);
  expire(now);
}

EventEnd NoticeTable::take(base::Instant now, const openrtb::Event& event,
                           std::vector<NoticeOrder>& due) {
  const auto found = bids_.find({.auction = event.auction, .imp = event.imp});
  if (found == bids_.end() || found->second.expires < now) {
    return EventEnd::kUnknown;
  }
  Entry& entry = found->second;
  const bool is_win = event.kind == openrtb::EventKind::kWin;
  if (std::exchange(is_win ? entry.won : entry.shown, true)) {
    return EventEnd::kDuplicate;
  }
  bytes_ -= entry.bytes();
  if (is_win == entry.billed_on_win) {
    release(entry.burl, NoticeKind::kBilling, std::exchange(entry.device, nullptr), due);
  }
  if (is_win) {
    release(entry.nurl, NoticeKind::kWin, nullptr, due);
  }
  bytes_ += entry.bytes();
  return EventEnd::kTaken;
}

void NoticeTable::expire(base::Instant now) {
  while (!in_order_.empty() && bids_.find(in_order_.front())->second.expires < now) {
    expired_ += drop_oldest() ? 1 : 0;
  }
  while (!in_order_.empty() && bytes_ > bytes_max_) {
    evicted_ += drop_oldest() ? 1 : 0;
  }
}

}  // namespace spillway::exchange
