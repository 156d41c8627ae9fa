#include "workload/tally.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/call_result.h"
#include "base/time.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::workload {

namespace {

using openrtb::Key;
using openrtb::Kind;

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
  const base::Duration lag = sample.sent - sample.due;
  lag_.record(lag);
  if (lag > late_after_) {
    late_.add();
  }
  const base::Duration latency = sample.ended - sample.due;
  all_.record(latency);
  by_ending_[static_cast<size_t>(sample.ending)].record(latency);
  answers_[static_cast<size_t>(sample.answer)].add();
  if (sample.status != 0) {
    ++statuses_[sample.status];
  }
}

double Tally::missed_ratio() const {
  const uint64_t offered = offered_.value();
  return offered == 0
             ? 0
             : static_cast<double>(late_.value() + dropped_.value()) / static_cast<double>(offered);
}

}  // namespace spillway::workload
