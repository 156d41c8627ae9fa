#include "exchange/notice_orders.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "exchange/bid_macros.h"
#include "exchange/call.h"
#include "exchange/clearing/bid.h"
#include "exchange/conclusion.h"
#include "exchange/notice_device.h"
#include "exchange/privacy.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/macros.h"

namespace spillway::exchange {

namespace {

using openrtb::Key;

/// A URL member of a bid with its macros expanded; "" when there is none.
std::string url_of(const Conclusion& end, const clearing::Bid& bid, Key key,
                   const openrtb::MacroValues& values) {
  const auto& document = end.calls[bid.answer]->document;
  std::string raw;
  std::string out;
  document.append_string(document.find(bid.node, key), raw);
  openrtb::append_expanded(out, raw, values, openrtb::MacroContext::kUrl);
  return out;
}

void add_due(ClearedNotices& out, NoticeKind kind, std::string url, DeviceLines device = nullptr) {
  if (!url.empty()) {
    out.due.push_back({.kind = kind, .url = std::move(url), .device = std::move(device)});
  }
}

/// One text for all bids of an auction, made when the first may have it.
class Device {
 public:
  explicit Device(const Conclusion& end) : end_(end) {}

  DeviceLines of(const clearing::Bid& bid) {
    const size_t dsp = end_.routes->candidates()[bid.answer].dsp;
    if (dsp < end_.privacy.size() && end_.privacy[dsp].copy != PrivacyClass::kFull) {
      return nullptr;
    }
    if (!std::exchange(made_, true)) {
      lines_ = device_lines(*end_.document, end_.fill);
    }
    return lines_;
  }

 private:
  const Conclusion& end_;
  DeviceLines lines_;
  bool made_ = false;
};

void list_winner(const Conclusion& end, const clearing::Bid& bid, BidMacros& macros, Device& device,
                 ClearedNotices& out) {
  const openrtb::MacroValues& values = macros.of_winner(end, bid);
  const Account& account = *end.account;
  WaitingBid waiting{.auction = end.bidid,
                     .imp = bid.imp,
                     .nurl = url_of(end, bid, Key::nurl, values),
                     .burl = url_of(end, bid, Key::burl, values),
                     .billed_on_win = account.billing_on_win,
                     .lifetime = end.snapshot->events.lifetime};
  if (!waiting.burl.empty()) {
    waiting.device = device.of(bid);
  }
  if (account.auction_is_final) {
    add_due(out, NoticeKind::kWin, std::exchange(waiting.nurl, {}));
    if (account.billing_on_win) {
      add_due(out, NoticeKind::kBilling, std::exchange(waiting.burl, {}),
              std::exchange(waiting.device, nullptr));
    }
  }
  if (end.snapshot->events.signer != nullptr) {
    out.waiting.push_back(std::move(waiting));
  }
}

}  // namespace

std::string_view to_string(NoticeKind kind) {
  switch (kind) {
    case NoticeKind::kBilling:
      return "billing";
    case NoticeKind::kWin:
      return "win";
    case NoticeKind::kLoss:
      return "loss";
  }
  return "";
}

void list_notices(const Conclusion& end, ClearedNotices& out) {
  out.clear();
  if (end.request->test) {
    return;
  }
  BidMacros macros;
  Device device(end);
  const bool awaits_events = end.snapshot->events.signer != nullptr;
  for (const clearing::Bid* bid : end.bids) {
    if (!bid->notices && !awaits_events) {
      continue;
    }
    if (end.winner_of(bid->imp) == bid) {
      list_winner(end, *bid, macros, device, out);
    } else if (bid->notices &&
               end.calls[bid->answer]->document.find(bid->node, Key::lurl) != openrtb::kAbsent) {
      add_due(out, NoticeKind::kLoss, url_of(end, *bid, Key::lurl, macros.of_loser(end, *bid)));
    }
  }
}

}  // namespace spillway::exchange
