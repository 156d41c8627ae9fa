#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/call_result.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/record.h"
#include "exchange/snapshot.h"
#include "openrtb/padded.h"
#include "resilience/guard.h"

namespace spillway::exchange {

/// What a fake DSP does with one call, its guard's word included.
struct FakeAnswer {
  uint16_t refusal = 0;  ///< Not 0: the guard refuses.
  bool silent = false;   ///< Never answers within the auction.
  base::Duration after = std::chrono::milliseconds(20);
  base::CallPhase phase = base::CallPhase::kDone;
  base::CallError error = base::CallError::kNone;
  uint16_t status = 200;
  std::string body = {};
};

inline FakeAnswer answers(std::string body) { return {.body = std::move(body)}; }

inline FakeAnswer answers_no_bid() { return {.status = 204}; }

inline FakeAnswer answers_status(uint16_t status) { return {.status = status}; }

inline FakeAnswer stays_silent() { return {.silent = true}; }

inline FakeAnswer is_refused(uint16_t code) { return {.refusal = code}; }

inline FakeAnswer fails(base::CallError error, base::CallPhase phase = base::CallPhase::kConnect) {
  return {.phase = phase, .error = error, .status = 0};
}

/// {"id":..,"impid":..,"price":..,"adm":..<more>}
inline std::string bid_json(std::string_view id, std::string_view impid, std::string_view price,
                            std::string_view more = R"(,"w":300,"h":250)") {
  std::string out = R"({"id":")";
  out += id;
  out += R"(","impid":")";
  out += impid;
  out += R"(","price":)";
  out += price;
  out += R"(,"adm":"<b>ad</b>","crid":"c")";
  out += more;
  out += '}';
  return out;
}

inline std::string response_json(std::string_view bids, std::string_view more = "") {
  std::string out = R"({"id":"r1","seatbid":[{"bid":[)";
  out += bids;
  out += "]}]";
  out += more;
  out += '}';
  return out;
}

inline FakeAnswer bids(std::string_view price, std::string_view impid = "1") {
  return answers(response_json(bid_json("b", impid, price)));
}

inline constexpr std::string_view kBannerImp = R"({"id":"1","banner":{"w":300,"h":250}})";

inline std::string request_json(std::string_view imps = kBannerImp, std::string_view more = "") {
  std::string out = R"({"id":"r1","imp":[)";
  out += imps;
  out += ']';
  out += more;
  out += '}';
  return out;
}

/// An exchange's day in miniature: DSPs that answer as told, one auction at a time in virtual time,
/// every input recorded as production does.
class FakeMarket {
 public:
  FakeMarket() {
    // Tests of whole requests would otherwise all have one more member.
    snapshot.accounts.emplace_back().source_tid = false;
    snapshot.hash = 77;
    start.time_zero = base::Instant(std::chrono::hours(100));
    start.now = start.time_zero + std::chrono::microseconds(300);
    start.wall_ms = 1'700'000'000'123;
    start.seed = 42;
  }

  /// DSPs must be added in order of name.
  DspConfig& add(std::string name, FakeAnswer answer) {
    DspConfig& dsp = snapshot.dsps.emplace_back();
    dsp.seat = name;
    dsp.name = std::move(name);
    dsp.endpoints.emplace_back();
    behaviour.push_back(std::move(answer));
    return dsp;
  }

  HouseAd& add_house(int32_t w = 300, int32_t h = 250) {
    HouseAd& ad = snapshot.house_ads.emplace_back();
    ad.w = w;
    ad.h = h;
    ad.adm = "<i>house</i>";
    ad.adomain = {"house.example"};
    return ad;
  }

  /// One whole auction; the reply also stays in `reply`.
  const ReplyBytes& run(std::string_view request) {
    request_ = openrtb::Padded(request);
    start.body = request_.view();
    seen.clear();
    announced_ms.clear();
    record.take_start(snapshot, start);
    auction.start(snapshot, start);
    if (!auction.finished()) {
      admit_and_answer();
    }
    reply = auction.reply();
    record.take_reply(reply);
    return reply;
  }

  /// How a (DSP, imp) without the win is reported.
  [[nodiscard]] SeatNonBid non_bid(uint32_t dsp, uint32_t imp = 0) const {
    for (const SeatNonBid& line : auction.seat_non_bids()) {
      if (line.dsp == dsp && line.imp == imp) {
        return line;
      }
    }
    return {.dsp = 999};
  }

  [[nodiscard]] base::CallResult result_of(const FakeAnswer& answer, base::Instant ended) const {
    base::CallResult result;
    result.phase = answer.phase;
    result.error = answer.error;
    result.status = answer.status;
    result.started_at = admitted_at();
    result.ended_at = ended;
    return result;
  }

  [[nodiscard]] base::Instant admitted_at() const {
    return start.now + std::chrono::microseconds(50);
  }

  Snapshot snapshot;
  Start start;
  std::vector<FakeAnswer> behaviour;  ///< One a DSP.
  base::Duration network_cost{};
  Auction auction;
  Record record;
  ReplyBytes reply;
  std::map<std::string, std::string> seen;  ///< DSP/path -> request bytes it was sent.
  std::map<std::string, int64_t> announced_ms;
  base::Instant finished_at{};

 private:
  static std::string joined(std::span<const std::string_view> pieces) {
    std::string out;
    for (const std::string_view piece : pieces) {
      out += piece;
    }
    return out;
  }

  void admit_and_answer() {
    const auto candidates = auction.candidates();
    std::vector<Verdict> verdicts(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      verdicts[i].refusal = behaviour[candidates[i].dsp].refusal;
      verdicts[i].terms.offered = auction.deadline() - admitted_at();
      verdicts[i].network_cost = network_cost;
    }
    record.take_admit(admitted_at(), verdicts);
    std::vector<std::pair<base::Instant, uint32_t>> order;
    for (const Ask& ask : auction.admit(admitted_at(), verdicts)) {
      const Candidate& asked = candidates[ask.candidate];
      const DspConfig& dsp = snapshot.dsps[asked.dsp];
      const std::string key = dsp.name + "/" + dsp.endpoints[asked.endpoint].path;
      seen[key] = joined(ask.body);
      announced_ms[key] = ask.announced_tmax / std::chrono::milliseconds(1);
      const FakeAnswer& answer = behaviour[asked.dsp];
      if (!answer.silent && admitted_at() + answer.after <= ask.deadline) {
        order.emplace_back(admitted_at() + answer.after, ask.candidate);
      }
    }
    std::ranges::sort(order);
    finished_at = auction.deadline();
    for (const auto& [at, candidate] : order) {
      const FakeAnswer& answer = behaviour[candidates[candidate].dsp];
      const openrtb::Padded body(answer.body);
      const base::CallResult result = result_of(answer, at);
      record.take_answer(at, candidate, result, body.view());
      auction.on_answer(at, candidate, result, body.view());
      if (auction.all_answered()) {
        finished_at = at;
      }
    }
    if (!auction.finished()) {
      record.take_finish(finished_at);
      auction.finish(finished_at);
    }
  }

  openrtb::Padded request_{""};
};

}  // namespace spillway::exchange
