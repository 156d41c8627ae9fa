#include "workload/partner.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/decimal.h"
#include "base/time.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"
#include "workload/corpus.h"

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;
using openrtb::Document;
using openrtb::Key;
using openrtb::Padded;

constexpr base::Instant kStart{1h};

const Padded& banner_request() {
  static const Padded kRequest(
      R"({"id":"r-1","imp":[{"id":"i\u0031","banner":{"w":300,"h":250},"bidfloor":1.25}]})");
  return kRequest;
}

PartnerSettings always_bids() {
  return {.style = {.name = "alpha",
                    .bid_ratio = 1,
                    .price = {.low = {1'000'000}, .high = {3'000'000}}},
          .latency = Latency::constant(20ms),
          .faults = {}};
}

Plan one_call(const Fault& fault) {
  PartnerSettings settings = always_bids();
  settings.style.price.low = {2'000'000};
  settings.faults = {fault};
  Partner partner(settings, kStart, 1);
  return partner.on_call(kStart, banner_request().view());
}

TEST(Partner, ABidAnswersTheImpAskedForWithItsSizeAndAPriceAtOrOverTheFloor) {
  Partner partner(always_bids(), kStart, 1);
  int bids = 0;
  for (int i = 0; i < 2000; ++i) {
    const Plan plan = partner.on_call(kStart, banner_request().view());
    if (plan.bids == 0) {
      EXPECT_EQ(plan.status, 204);
      continue;
    }
    ++bids;
    const Padded body(plan.body);
    Document answer;
    ASSERT_TRUE(answer.walk(body.view())) << plan.body;
    EXPECT_TRUE(answer.equals(answer.find(answer.root(), Key::id), "r-1"));
    const auto bid = answer.first_child(
        answer.find(answer.first_child(answer.find(answer.root(), Key::seatbid)), Key::bid));
    EXPECT_TRUE(answer.equals(answer.find(bid, Key::impid), "i1"));
    EXPECT_EQ(answer.integer(answer.find(bid, Key::w)), 300);
    EXPECT_EQ(answer.integer(answer.find(bid, Key::h)), 250);
    const auto price =
        base::parse_micros(answer.raw(answer.find(bid, Key::price)), base::Rounding::kDown);
    EXPECT_GE(price.value_or(0), 1'250'000);
    EXPECT_LE(price.value_or(0), 3'000'000);
  }
  EXPECT_NEAR(bids, 2000 * 1.75 / 2, 100) << "prices below the floor are no bids";
}

TEST(Partner, BidsOnTheShareOfRequestsItsBidRateSays) {
  PartnerSettings settings = always_bids();
  settings.style.bid_ratio = 0.3;
  settings.style.price.low = {2'000'000};
  Partner partner(settings, kStart, 1);
  for (int i = 0; i < 10'000; ++i) {
    (void)partner.on_call(kStart, banner_request().view());
  }
  EXPECT_NEAR(static_cast<double>(partner.account().bids.value()), 3000, 150);
  EXPECT_EQ(partner.account().bids.value() + partner.account().no_bids.value(), 10'000);
}

TEST(Partner, EveryRequestOfTheGeneratedCorpusGetsAnAnswerThatIsJson) {
  const Corpus corpus = Corpus::generate({});
  PartnerSettings settings = always_bids();
  Partner partner(settings, kStart, 1);
  Document answer;
  for (size_t i = 0; i < corpus.size(); ++i) {
    const Padded request(corpus.bytes(i, "id-1"));
    const Plan plan = partner.on_call(kStart, request.view());
    ASSERT_NE(plan.status, 400) << request.view();
    if (plan.status == 200) {
      const Padded body(plan.body);
      ASSERT_TRUE(answer.walk(body.view())) << plan.body;
    }
  }
  EXPECT_GT(partner.account().bids.value(), corpus.size() / 2);
}

TEST(Partner, SpellsNoBidAsItIsTold) {
  PartnerSettings settings = always_bids();
  settings.style.bid_ratio = 0;
  const auto body_of = [&](NoBidSpelling spelling) {
    settings.style.nobid = spelling;
    Partner partner(settings, kStart, 1);
    const Plan plan = partner.on_call(kStart, banner_request().view());
    return std::to_string(plan.status) + " " + plan.body;
  };
  EXPECT_EQ(body_of(NoBidSpelling::k204), "204 ");
  EXPECT_EQ(body_of(NoBidSpelling::kEmpty), "200 ");
  EXPECT_EQ(body_of(NoBidSpelling::kEmptyObject), "200 {}");
  EXPECT_EQ(body_of(NoBidSpelling::kEmptySeatbid), R"(200 {"id":"r-1","seatbid":[]})");
  EXPECT_EQ(body_of(NoBidSpelling::kNbr), R"(200 {"id":"r-1","nbr":8})");
}

TEST(Partner, ARequestThatIsNoJsonIsAnswered400AndCounted) {
  Partner partner(always_bids(), kStart, 1);
  const Padded broken("{\"id\":");
  EXPECT_EQ(partner.on_call(kStart, broken.view()).status, 400);
  EXPECT_EQ(partner.account().bad_requests.value(), 1);
}

TEST(Partner, EachFaultMakesThePlanItStandsFor) {
  using Action = Plan::Action;
  EXPECT_EQ(one_call({.kind = FaultKind::kSlow, .added = 80ms}).delay, 100ms);
  EXPECT_EQ(one_call({.kind = FaultKind::kSlow, .latency = Latency::constant(300ms)}).delay, 300ms);
  EXPECT_EQ(one_call({.kind = FaultKind::kHang}).action, Action::kHang);
  EXPECT_EQ(one_call({.kind = FaultKind::kReset}).action, Action::kReset);
  EXPECT_EQ(one_call({.kind = FaultKind::kServerError, .status = 502}).status, 502);
  EXPECT_EQ(one_call({.kind = FaultKind::kOverload, .retry_after = 3s}).status, 429);
  EXPECT_EQ(one_call({.kind = FaultKind::kOverload, .retry_after = 3s}).retry_after, 3s);
  EXPECT_EQ(one_call({.kind = FaultKind::kGarbage, .raw = true}).action, Action::kRaw);
  EXPECT_EQ(one_call({.kind = FaultKind::kDrip}).action, Action::kDrip);
  EXPECT_EQ(one_call({.kind = FaultKind::kOversize, .body_bytes = 4096}).body.size(), 4096);
  EXPECT_EQ(one_call({.kind = FaultKind::kDeadButFast}).status, 204);
  EXPECT_EQ(one_call({.kind = FaultKind::kDeadButFast}).delay, 0ms);
  const Plan garbage = one_call({.kind = FaultKind::kGarbage});
  const Padded body(garbage.body);
  Document document;
  EXPECT_FALSE(document.walk(body.view()));
}

TEST(Partner, WrongImpidAndWrongCurrencyAreOtherwiseSoundBids) {
  EXPECT_NE(one_call({.kind = FaultKind::kWrongImpid}).body.find(R"("impid":"no-such-imp")"),
            std::string::npos);
  EXPECT_NE(one_call({.kind = FaultKind::kWrongCurrency}).body.find(R"("cur":"JPY")"),
            std::string::npos);
  EXPECT_EQ(one_call({.kind = FaultKind::kWrongCurrency}).bids, 1);
}

TEST(Partner, TheAccountAddsUpToTheCalls) {
  PartnerSettings settings = always_bids();
  settings.style.bid_ratio = 0.5;
  for (size_t i = 0; i < kFaultKinds; ++i) {
    settings.faults.push_back(
        {.kind = static_cast<FaultKind>(i), .share_ratio = 0.08, .added = 1ms});
  }
  Partner partner(settings, kStart, 9);
  for (int i = 0; i < 20'000; ++i) {
    (void)partner.on_call(kStart, banner_request().view());
  }
  const PartnerAccount& account = partner.account();
  EXPECT_EQ(account.calls.value(), 20'000);
  EXPECT_EQ(account.bids.value() + account.no_bids.value() + account.bad_requests.value() +
                account.errors.value() + account.hung.value() + account.reset.value(),
            20'000);
  for (const auto& hit : account.faults) {
    EXPECT_GT(hit.value(), 0);
  }
}

TEST(Partner, TheSameSeedGivesTheSamePlans) {
  Partner one(always_bids(), kStart, 5);
  Partner two(always_bids(), kStart, 5);
  for (int i = 0; i < 200; ++i) {
    const Plan a = one.on_call(kStart, banner_request().view());
    const Plan b = two.on_call(kStart, banner_request().view());
    EXPECT_EQ(a.body, b.body);
    EXPECT_EQ(a.delay, b.delay);
  }
}

const Padded& request_with_tmax() {
  static const Padded kRequest(
      R"({"id":"r-1","tmax":120,"imp":[{"id":"i1","banner":{"w":300,"h":250}}]})");
  return kRequest;
}

TEST(Partner, ALeakGrowsEvenlyAndStays) {
  PartnerSettings settings = always_bids();
  settings.faults = {{.kind = FaultKind::kSlow, .added = 100ms, .added_to = 800ms, .over = 5min}};
  Partner partner(settings, kStart, 1);
  const auto delay = [&](base::Duration at) {
    return partner.on_call(kStart + at, banner_request().view()).delay;
  };
  EXPECT_EQ(delay(0s), 120ms);
  EXPECT_EQ(delay(150s), 470ms);
  EXPECT_EQ(delay(5min), 820ms);
  EXPECT_EQ(delay(1h), 820ms);
}

TEST(Partner, ABrownOutIsAsSlowAsItIsBusy) {
  PartnerSettings settings = always_bids();
  settings.faults = {{.kind = FaultKind::kBrownOut, .servers = 2, .longest_wait = 100ms}};
  Partner partner(settings, kStart, 1);
  base::Duration worst{};
  for (int i = 0; i < 100; ++i) {  // 50 a second, of 100 that it can do
    worst = std::max(worst, partner.on_call(kStart + i * 20ms, banner_request().view()).delay);
  }
  EXPECT_EQ(worst, 20ms);
  int refused = 0;
  for (int i = 0; i < 100; ++i) {  // 200 a second
    const Plan plan = partner.on_call(kStart + 2s + i * 5ms, banner_request().view());
    refused += plan.status == 503 ? 1 : 0;
    worst = std::max(worst, plan.delay);
  }
  EXPECT_GT(refused, 30) << "half of them, once the queue is full";
  EXPECT_LT(refused, 50);
  EXPECT_GT(worst, 100ms);
  EXPECT_LE(worst, 120ms);
  EXPECT_EQ(partner.account().errors.value(), static_cast<uint64_t>(refused));
}

TEST(Partner, WhoKeepsTmaxSaysNoInTimeInsteadOfBiddingTooLate) {
  PartnerSettings settings = always_bids();
  settings.keeps_tmax = true;
  settings.style.nobid = NoBidSpelling::kNbr;
  settings.faults = {{.kind = FaultKind::kSlow, .from = 1s, .added = 600ms}};
  Partner partner(settings, kStart, 1);
  EXPECT_EQ(partner.on_call(kStart, request_with_tmax().view()).bids, 1);
  const Plan late = partner.on_call(kStart + 1s, request_with_tmax().view());
  EXPECT_EQ(late.delay, 115ms);
  EXPECT_EQ(late.bids, 0);
  EXPECT_EQ(late.body, R"({"id":"r-1","nbr":8})");
  EXPECT_EQ(partner.on_call(kStart + 1s, banner_request().view()).delay, 620ms)
      << "a request without tmax has no time to keep";
}

TEST(Partner, AScriptIsPlayedCallByCallAndFaultsGoBeforeIt) {
  PartnerSettings settings = always_bids();
  settings.script = Script::parse(
                        "{\"ms\":7,\"does\":\"bid\"}\n{\"ms\":8,\"does\":\"no_bid\"}\n"
                        "{\"ms\":9,\"does\":502}\n{\"ms\":1,\"does\":\"hang\"}\n")
                        .value();
  settings.faults = {{.kind = FaultKind::kOverload, .from = 1s}};
  Partner partner(settings, kStart, 1);
  const auto call = [&](base::Duration at) {
    return partner.on_call(kStart + at, request_with_tmax().view());
  };
  Plan plan = call(0s);
  EXPECT_EQ(plan.bids, 1);
  EXPECT_EQ(plan.delay, 7ms);
  EXPECT_EQ(call(1s).status, 429);
  EXPECT_EQ(call(0s).status, 204);
  EXPECT_EQ(call(0s).status, 502);
  EXPECT_EQ(call(0s).action, Plan::Action::kHang);
  EXPECT_EQ(call(0s).delay, 7ms);
}

}  // namespace
}  // namespace spillway::workload
