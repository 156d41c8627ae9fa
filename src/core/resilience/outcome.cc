#include "resilience/outcome.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace spillway::resilience {

namespace {

struct Row {
  std::string_view name;
  Verdict verdict;
};

constexpr std::array<Row, kOutcomes> kRows{{
    {"ok", Verdict::kGood},
    {"slow", Verdict::kBad},
    {"timeout", Verdict::kBad},
    {"short", Verdict::kNeutral},
    {"overload", Verdict::kOverload},
    {"server_error", Verdict::kBad},
    {"refused", Verdict::kBad},
    {"reset", Verdict::kBad},
    {"tls", Verdict::kBad},
    {"malformed", Verdict::kBad},
    {"misconfigured", Verdict::kBad},
    {"rejected_by_peer", Verdict::kNeutral},
    {"cancelled", Verdict::kNeutral},
    {"cancelled_slow", Verdict::kBad},
    {"not_sent", Verdict::kNeutral},
    {"abandoned", Verdict::kNeutral},
}};

}  // namespace

std::string_view to_string(Outcome outcome) { return kRows[static_cast<size_t>(outcome)].name; }

Verdict verdict_of(Outcome outcome) { return kRows[static_cast<size_t>(outcome)].verdict; }

}  // namespace spillway::resilience
