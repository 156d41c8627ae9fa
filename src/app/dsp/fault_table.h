#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::app {

/// What a breaker should make of a fault.
enum class FaultReaction : uint8_t { kOpens, kOpensLate, kAlertsOnly, kThrottled, kNothing };

/// One row of the fault table in docs/load_and_farm.md.
struct FaultRow {
  std::string name;
  std::string call;  ///< Body of POST /admin/fault, JSON.
  FaultReaction reaction = FaultReaction::kNothing;
  std::string outcome;  ///< The outcome that most calls hit by it have.
};

/// The rows between the marks of the table; empty when a mark is missing or a row is malformed.
[[nodiscard]] std::vector<FaultRow> parse_fault_table(std::string_view markdown);

}  // namespace spillway::app
