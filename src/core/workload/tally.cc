#include "workload/tally.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/call_result.h"
#include "base/counter.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::workload {

namespace {

using openrtb::Key;
using openrtb::Kind;

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string_view to_string(AnswerKind kind) {
  constexpr std::array<std::string_view, kAnswerKinds> kNames = {"bid",     "house", "no_bid",
                                                                 "invalid", "error", "none"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view to_string(Ending ending) {
  constexpr std::array<std::string_view, kEndings> kNames = {
      "2xx", "3xx", "4xx", "5xx", "timeout", "refused", "reset", "other"};
  return kNames[static_cast<size_t>(ending)];
}

AnswerKind kind_of(openrtb::Document& document, uint16_t status, std::string_view body) {
  if (status == 0) {
    return AnswerKind::kNone;
  }
  if (status == 204) {
    return AnswerKind::kNoBid;
  }
  if (status != 200) {
    return AnswerKind::kError;
  }
  if (body.empty()) {
    return AnswerKind::kNoBid;
  }
  if (!document.walk(body) || !document.is(document.root(), Kind::kObject)) {
    return AnswerKind::kInvalid;
  }
  bool house = false;
  for (const auto seat : document.children(document.find(document.root(), Key::seatbid))) {
    for (const auto bid : document.children(document.find(seat, Key::bid))) {
      if (document.integer(document.path(bid, Key::ext, Key::house)) != 1) {
        return AnswerKind::kBid;
      }
      house = true;
    }
  }
  return house ? AnswerKind::kHouse : AnswerKind::kNoBid;
}

Ending ending_of(const base::CallResult& result) {
  switch (result.error) {
    case base::CallError::kNone:
      break;
    case base::CallError::kTimeout:
      return Ending::kTimeout;
    case base::CallError::kRefused:
      return Ending::kRefused;
    case base::CallError::kReset:
      return Ending::kReset;
    default:
      return Ending::kOther;
  }
  switch (result.status / 100) {
    case 2:
      return Ending::k2xx;
    case 3:
      return Ending::k3xx;
    case 4:
      return Ending::k4xx;
    case 5:
      return Ending::k5xx;
    default:
      return Ending::kOther;
  }
}

void Tally::record(const Sample& sample) {
  lag_.record(sample.lag());
  if (sample.lag() > late_after_) {
    late_.add();
  }
  ended_.add();
  all_.record(sample.latency());
  by_ending_[static_cast<size_t>(sample.ending)].record(sample.latency());
  answers_[static_cast<size_t>(sample.answer)].add();
  failed_.add(sample.failed() ? 1 : 0);
  over_tmax_.add(sample.over_tmax() ? 1 : 0);
  broken_.add(sample.valid ? 0 : 1);
  if (sample.status != 0 && sample.status < kStatuses) {
    statuses_[sample.status].add();
  }
}

void Tally::merge(const Tally& other) {
  const auto add = [](base::Counter& to, const base::Counter& from) { to.add(from.value()); };
  add(offered_, other.offered_);
  add(dropped_, other.dropped_);
  add(late_, other.late_);
  add(ended_, other.ended_);
  add(failed_, other.failed_);
  add(over_tmax_, other.over_tmax_);
  add(broken_, other.broken_);
  for (size_t i = 0; i < kAnswerKinds; ++i) {
    add(answers_[i], other.answers_[i]);
  }
  for (size_t i = 0; i < kStatuses; ++i) {
    add(statuses_[i], other.statuses_[i]);
  }
  all_.merge(other.all_);
  lag_.merge(other.lag_);
  for (size_t i = 0; i < kEndings; ++i) {
    by_ending_[i].merge(other.by_ending_[i]);
  }
}

double Tally::missed_ratio() const { return share(late() + dropped(), offered()); }

double Tally::error_ratio() const { return share(failed(), ended()); }

double Tally::bid_ratio() const { return share(answers(AnswerKind::kBid), ended()); }

}  // namespace spillway::workload
