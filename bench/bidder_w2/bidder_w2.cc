// Workload W2 against the bidder's whole pipeline: 120,000 campaigns, users of whom a long run
// meets a million, up to eight imps, deals, consent strings, a tenth of the requests broken, and
// notices: of the bids a fifth win, a hundredth of the wins is told twice, a thousandth comes after
// its bid was given back. What is measured is CPU time a request, from its bytes to the answer's,
// beside walking and validating its bytes alone; sockets and compression are not in it, and what
// the load costs is outside the clock.
//
//     bidder_w2 [--requests N (300000)] [--campaigns N (120000)] [--smoke]
//
// --requests 3000000 meets a million users. The last line is JSON. Exit status 1: nothing was bid,
// a notice was not believed, or money and bids do not add up.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "bidder/caps/segments.h"
#include "bidder/generate/catalogs.h"
#include "bidder/generate/users.h"
#include "bidder_w1/cpu_time.h"
#include "bidder_w1/whole_bidder.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"
#include "workload/corpus.h"

namespace spillway::bench {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kWednesdayNoonS = 1'791'979'200;  // 14 October 2026, 12:00 UTC.
constexpr size_t kBatch = 1'000;
constexpr double kWinRatio = 0.2;
constexpr double kTwiceRatio = 0.01;
constexpr double kLateRatio = 0.001;

struct Plan {
  uint64_t requests = 300'000;
  uint32_t campaigns = 0;
};

struct Asked {
  openrtb::Padded text;
  std::string segments;
  bidder::caps::SegmentState state = bidder::caps::SegmentState::kNoSuchUser;
};

struct Totals {
  uint64_t requests = 0;
  uint64_t valid = 0;
  uint64_t with_bid = 0;
  uint64_t bids = 0;
  uint64_t wins = 0;
  uint64_t notices = 0;
  uint64_t not_believed = 0;
  double validate_us = 0;
  double requests_us = 0;
  double notices_us = 0;
};

/// Whose requests they are, and what came of them.
class Run {
 public:
  Run(const Plan& plan, WholeBidder& bidder)
      : bidder_(bidder), plan_(plan), seen_(bidder::generate::Users::honest().count() + 1) {}

  Totals all() {
    while (totals_.requests < plan_.requests) {
      make_batch();
      validate_batch();
      ask_batch();
      tell();
      bidder_.pass(1s);
    }
    return totals_;
  }

  [[nodiscard]] uint64_t users() const { return users_; }

 private:
  void make_batch() {
    batch_.clear();
    const size_t size = std::min<uint64_t>(kBatch, plan_.requests - totals_.requests);
    for (size_t i = 0; i < size; ++i, ++totals_.requests) {
      const uint64_t user = corpus_.user(totals_.requests);
      if (!seen_[user]) {
        seen_[user] = true;
        ++users_;
      }
      const std::string id = "w2-" + std::to_string(totals_.requests);
      const std::string name = people_.id(user);
      Asked& asked =
          batch_.emplace_back(openrtb::Padded(corpus_.at(rng_.below(corpus_.size()))
                                                  .request.bytes({.id = id,
                                                                  .tid = id,
                                                                  .seconds = "1791979200",
                                                                  .millis = "1791979200000",
                                                                  .user = name})));
      if (people_.segments(user, numbers_)) {
        asked.state = bidder::caps::SegmentState::kKnown;
        for (const uint32_t number : numbers_) {
          asked.segments += std::to_string(number) + "\n";
        }
      }
    }
  }

  void validate_batch() {
    const double begin = cpu_us();
    for (const Asked& asked : batch_) {
      if (document_.walk(asked.text.view())) {
        (void)openrtb::read_request(document_, {}, view_);
      }
    }
    totals_.validate_us += cpu_us() - begin;
  }

  void ask_batch() {
    for (const Asked& asked : batch_) {
      const double begin = cpu_us();
      const size_t bids =
          bidder_.ask(asked.text.view(), {.state = asked.state, .ids = asked.segments});
      totals_.requests_us += cpu_us() - begin;
      totals_.valid += bidder_.reason() == bidder::NoBidReason::kInvalid ? 0 : 1;
      totals_.with_bid += bids > 0 ? 1 : 0;
      totals_.bids += bids;
      if (bids > 0) {
        decide(bidder_.body());
      }
    }
  }

  /// What the auction makes of each bid of an answer.
  void decide(std::string_view answer) {
    const bool won = rng_.uniform() < kWinRatio;
    const std::string_view kind = won ? "win" : "loss";
    const std::string mark = "/notice/" + std::string(kind) + "?";
    for (size_t at = answer.find(mark); at != std::string_view::npos; at = answer.find(mark, at)) {
      at += mark.size();
      std::string query(answer.substr(at, answer.find('"', at) - at));
      replace(query, "${AUCTION_PRICE}", "0.05");
      replace(query, "${AUCTION_LOSS}", "102");
      const double draw = rng_.uniform();
      totals_.wins += won ? 1 : 0;
      if (won && draw < kTwiceRatio) {
        due_.emplace_back(kind, query);
      }
      auto& when = won && draw > 1 - kLateRatio ? late_ : due_;
      when.emplace_back(kind, std::move(query));
    }
  }

  static void replace(std::string& text, std::string_view macro, std::string_view value) {
    if (const size_t at = text.find(macro); at != std::string::npos) {
      text.replace(at, macro.size(), value);
    }
  }

  void tell() {
    // Once their bids have long been given back.
    if (late_.size() > 100) {
      bidder_.pass(5min);
      due_.insert(due_.end(), late_.begin(), late_.end());
      late_.clear();
    }
    const double begin = cpu_us();
    for (const auto& [kind, query] : due_) {
      totals_.not_believed += bidder_.notice(kind, query) ? 0 : 1;
    }
    totals_.notices_us += cpu_us() - begin;
    totals_.notices += due_.size();
    due_.clear();
  }

  WholeBidder& bidder_;
  Plan plan_;
  workload::Corpus corpus_ = workload::Corpus::generate(workload::honest_bidder_settings(42));
  bidder::generate::Users people_ = bidder::generate::Users::honest();
  base::Rng rng_{42};
  std::vector<bool> seen_;
  uint64_t users_ = 0;
  std::vector<Asked> batch_;
  std::vector<uint32_t> numbers_;
  std::vector<std::pair<std::string_view, std::string>> due_, late_;
  openrtb::Document document_;
  openrtb::RequestView view_;
  Totals totals_;
};

/// Every zone of the catalog, at UTC: core knows no tz database, and the work is the same.
std::vector<bidder::TimeZone> zones_of(const bidder::CatalogRows& rows) {
  std::set<std::string> names;
  for (const auto& advertiser : rows.advertisers) {
    names.insert(advertiser.time_zone);
  }
  std::vector<bidder::TimeZone> zones;
  for (const auto& name : names) {
    zones.push_back({.name = name, .changes = {}});
  }
  return zones;
}

double each(double sum, uint64_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

int run(const Plan& plan) {
  const auto rows =
      bidder::generate::honest_catalog({.campaigns = plan.campaigns, .today_s = kWednesdayNoonS});
  WholeBidder bidder(rows, zones_of(rows), kWednesdayNoonS);
  Run load(plan, bidder);
  const Totals totals = load.all();
  const auto money = bidder.money();
  uint64_t settled = money.expired + money.open_bids;
  settled += money.settled[static_cast<size_t>(bidder::SettleOutcome::kSettled)];
  settled += money.settled[static_cast<size_t>(bidder::SettleOutcome::kOvercharged)];
  const double bid_ratio = each(static_cast<double>(totals.with_bid), totals.valid);
  const double request_us = each(totals.requests_us, totals.requests);
  const double validate_us = each(totals.validate_us, totals.requests);
  const double notice_us = each(totals.notices_us, totals.notices);
  const bool ok = totals.bids > 0 && totals.not_believed == 0 && settled == totals.bids;
  std::printf("W2: %zu campaigns, %zu line items; %llu requests of %llu users, %.3f valid\n",
              bidder.catalog().campaigns().size(), bidder.catalog().items().size(),
              static_cast<unsigned long long>(totals.requests),
              static_cast<unsigned long long>(load.users()),
              each(static_cast<double>(totals.valid), totals.requests));
  std::printf(
      "bids on %.3f of the valid, %llu bids, %llu won; of them settled, given back or open: %llu\n",
      bid_ratio, static_cast<unsigned long long>(totals.bids),
      static_cast<unsigned long long>(totals.wins), static_cast<unsigned long long>(settled));
  std::printf(
      "CPU us: a request %.1f, its bytes walked and validated alone %.1f (ratio %.1f), a notice "
      "%.2f\n",
      request_us, validate_us, request_us / validate_us, notice_us);
  std::printf(
      "{\"bench\": \"bidder_w2\", \"users\": %llu, \"bid_ratio\": %.4f, \"request_us\": %.2f, "
      "\"validate_us\": %.2f, \"notice_us\": %.2f, \"ok\": %s}\n",
      static_cast<unsigned long long>(load.users()), bid_ratio, request_us, validate_us, notice_us,
      ok ? "true" : "false");
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace spillway::bench

int main(int argc, char** argv) {
  spillway::bench::Plan plan;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (flag == "--smoke") {
      plan = {.requests = 3'000, .campaigns = 2'000};
    } else if (flag == "--requests") {
      plan.requests = std::max<uint64_t>(1, number());
    } else if (flag == "--campaigns") {
      plan.campaigns = static_cast<uint32_t>(number());
    }
  }
  return spillway::bench::run(plan);
}
