// What a Worker does with the notices of its bids.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/bidder/answers.h"
#include "app/bidder/deployment.h"
#include "app/bidder/event_log.h"
#include "app/bidder/stats.h"
#include "app/bidder/worker.h"
#include "app/serving/wall_clock.h"
#include "base/money.h"
#include "bidder/cap_limits.h"
#include "bidder/caps/keys.h"
#include "bidder/notice.h"
#include "bidder/pacing/grant.h"
#include "bidder/pricing.h"
#include "net/http.h"
#include "net/server.h"
#include "openrtb/signed_query.h"

namespace spillway::app::bidding {
namespace {

NoticeEnd end_of(bidder::NoticeErrc error) {
  switch (error) {
    case bidder::NoticeErrc::kMalformed:
      return NoticeEnd::kMalformed;
    case bidder::NoticeErrc::kUnknownExchange:
      return NoticeEnd::kUnknownExchange;
    case bidder::NoticeErrc::kBadSignature:
      return NoticeEnd::kBadSignature;
    case bidder::NoticeErrc::kExpired:
      return NoticeEnd::kExpired;
  }
  return NoticeEnd::kMalformed;
}

NoticeEnd end_of(bidder::SettleOutcome outcome) {
  switch (outcome) {
    case bidder::SettleOutcome::kSettled:
      return NoticeEnd::kSettled;
    case bidder::SettleOutcome::kOvercharged:
      return NoticeEnd::kOvercharged;
    case bidder::SettleOutcome::kDuplicate:
      return NoticeEnd::kDuplicate;
    case bidder::SettleOutcome::kLate:
      return NoticeEnd::kLate;
    case bidder::SettleOutcome::kUnknown:
      return NoticeEnd::kUnknown;
  }
  return NoticeEnd::kUnknown;
}

BidEvent::Kind event_kind(bidder::NoticeKind kind) {
  switch (kind) {
    case bidder::NoticeKind::kWin:
      return BidEvent::Kind::kWin;
    case bidder::NoticeKind::kBilling:
      return BidEvent::Kind::kBilling;
    case bidder::NoticeKind::kLoss:
      return BidEvent::Kind::kLoss;
  }
  return BidEvent::Kind::kLoss;
}

uint16_t status_of(NoticeEnd end) {
  switch (end) {
    case NoticeEnd::kMalformed:
      return 400;
    case NoticeEnd::kUnknownExchange:
    case NoticeEnd::kBadSignature:
      return 403;
    case NoticeEnd::kExpired:
      return 410;
    case NoticeEnd::kBusy:
      return 503;
    default:
      return 204;
  }
}

/// For counting what is not believed: by the path alone.
bidder::NoticeKind kind_of(std::string_view name) {
  for (const auto kind : {bidder::NoticeKind::kBilling, bidder::NoticeKind::kLoss}) {
    if (name == to_string(kind)) {
      return kind;
    }
  }
  return bidder::NoticeKind::kWin;
}

}  // namespace

// Any method: exchanges call from servers, and their pages from browsers.
void Worker::on_notice(const net::Request& request, net::Reply reply) {
  const std::string_view name = request.path().substr(kNoticePath.size());
  const auto notice = deployment_->signer->read(name, request.query(), wall_clock_ms() / 1'000);
  const NoticeEnd end = notice ? take_notice(*notice) : end_of(notice.error());
  const auto kind = notice ? notice->kind : kind_of(name);
  stats_.notices[static_cast<size_t>(kind)][static_cast<size_t>(end)].add();
  if (notice) {
    log_notice(*notice, end);
  }
  const uint16_t status = status_of(end);
  reply.send(status == 204 ? no_content() : text_answer(status, to_string(end)));
}

// Repetitions and tests have no effect, and are no events; what is to be sent again will be one.
void Worker::log_notice(const bidder::Notice& notice, NoticeEnd end) {
  if (end == NoticeEnd::kTest || end == NoticeEnd::kDuplicate || end == NoticeEnd::kBusy) {
    return;
  }
  const auto& claims = notice.claims;
  stats_.arm_notices[static_cast<size_t>(claims.arm)][static_cast<size_t>(notice.kind)].add();
  if (!shared_.events.enabled()) {
    return;
  }
  const bool is_loss = notice.kind == bidder::NoticeKind::kLoss;
  const base::Cpm paid = std::min(notice.price.value_or(claims.ceiling), claims.ceiling);
  shared_.events.offer(index_, {.kind = event_kind(notice.kind),
                                .arm = claims.arm,
                                .end = to_string(end),
                                .unix_ms = wall_clock_ms(),
                                .bid = claims.bid,
                                .campaign = claims.campaign,
                                .creative = claims.creative,
                                .price = is_loss ? notice.price.value_or(base::Cpm{}) : paid,
                                .currency = claims.currency,
                                .loss = notice.loss,
                                .exchange = std::string_view(notice.exchange),
                                .request = std::string_view(notice.request),
                                .imp = std::string_view(notice.imp)});
}

NoticeEnd Worker::take_notice(const bidder::Notice& notice) {
  if (notice.claims.test) {
    return NoticeEnd::kTest;
  }
  return notice.kind == bidder::NoticeKind::kLoss ? take_loss(notice) : take_win(notice);
}

// Win and billing are one event in two words: the first that comes counts, the other repeats it.
NoticeEnd Worker::take_win(const bidder::Notice& notice) {
  if (!count_impression(notice)) {
    return NoticeEnd::kBusy;
  }
  const base::Cpm price = price_of(notice);
  const auto& catalog = *deployment_->catalog;
  const auto campaign = catalog.catalog.find_campaign(notice.claims.campaign);
  const auto paid = campaign ? bidder::charge_of(catalog.terms[*campaign], price,
                                                 notice.claims.currency, deployment_->config->rates)
                             : std::nullopt;
  // A campaign that is gone pays what its impression cost.
  const base::Money cost = paid.value_or(base::cost_of(price));
  const auto outcome = shared_.grant.settle(notice.claims.bid, cost);
  if (outcome != bidder::SettleOutcome::kUnknown || !campaign) {
    return end_of(outcome);
  }
  const int64_t unix_s = wall_clock_ms() / 1'000;
  const auto advertiser = catalog.catalog.advertiser_of_campaign(*campaign);
  const auto& zone = catalog.catalog.zone_of_advertiser(advertiser);
  return end_of(shared_.grant.charge_unknown(
      notice.claims.bid, notice.claims.campaign, cost,
      {.now = reactor_.now(), .local_s = unix_s + zone.offset_s(unix_s)}));
}

base::Cpm Worker::price_of(const bidder::Notice& notice) {
  const auto doubt = [this](PriceDoubt what) {
    stats_.price_doubts[static_cast<size_t>(what)].add();
  };
  if (!notice.price) {
    doubt(notice.price_given ? PriceDoubt::kUnreadable : PriceDoubt::kMissing);
    return notice.claims.ceiling;
  }
  if (*notice.price > notice.claims.ceiling) {
    doubt(PriceDoubt::kAboveCeiling);
    return notice.claims.ceiling;
  }
  return *notice.price;
}

void Worker::list_keys(const bidder::Claims& claims, int64_t unix_s) {
  limits_.clear();
  keys_.clear();
  const auto& catalog = deployment_->catalog->catalog;
  if (const auto campaign = catalog.find_campaign(claims.campaign)) {
    bidder::append_limits(catalog, *campaign, claims.creative, unix_s, limits_);
  }
  for (const auto& limit : limits_) {
    keys_.push_back(limit.key);
  }
}

// Once for each impression, whichever of its notices comes first. False: not now.
bool Worker::count_impression(const bidder::Notice& notice) {
  const int64_t unix_s = wall_clock_ms() / 1'000;
  const auto& claims = notice.claims;
  list_keys(claims, unix_s);
  if (!claims.user || keys_.empty()) {
    return true;
  }
  std::string auction;
  openrtb::append_hex(auction, claims.bid);
  const bidder::caps::Impression impression{
      .exchange = notice.exchange, .auction = auction, .imp = notice.imp};
  if (stores_ != nullptr && stores_->has_counts() &&
      !stores_->won(*claims.user, impression, keys_, unix_s)) {
    return false;
  }
  if (shared_.recent.first_time(impression, unix_s)) {
    (void)shared_.caps.win(*claims.user, keys_, claims.hold, unix_s);
    if (shared_.cap_cache) {
      shared_.cap_cache->win(*claims.user, keys_, unix_s);
    }
  }
  return true;
}

NoticeEnd Worker::take_loss(const bidder::Notice& notice) {
  const auto outcome = shared_.grant.lose(notice.claims.bid);
  // Of a bid that was open: what it held is given back once.
  if (outcome == bidder::SettleOutcome::kSettled && notice.claims.user) {
    const int64_t unix_s = wall_clock_ms() / 1'000;
    list_keys(notice.claims, unix_s);
    shared_.caps.release(*notice.claims.user, keys_, notice.claims.hold, unix_s);
  }
  return end_of(outcome);
}

}  // namespace spillway::app::bidding
