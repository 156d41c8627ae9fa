#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/auction.h"
#include "exchange/classify.h"
#include "exchange/record.h"
#include "exchange/snapshot.h"
#include "resilience/guard.h"

namespace spillway::exchange {

/// A recorded auction, run again and ended, with the questions its tellings share.
struct Explained {
  const Snapshot* snapshot = nullptr;
  const Record* record = nullptr;
  const Auction* auction = nullptr;

  /// Paths of the values that privacy withheld of the request from a DSP, or gave coarser.
  [[nodiscard]] std::vector<std::string> withheld_from(uint32_t dsp) const;
  /// Whether the reply is the recorded one, byte for byte.
  [[nodiscard]] bool is_same() const;
  /// Decoded id of an imp.
  [[nodiscard]] std::string_view imp_id(uint32_t imp) const;
  /// Whether bids()[index] won its imp.
  [[nodiscard]] bool is_winner(uint32_t index) const;
  /// The winner of an imp, or null.
  [[nodiscard]] const clearing::Bid* winner_of(uint32_t imp) const;
};

/// snake_case names.
[[nodiscard]] std::string_view to_string(AnswerKind kind);
[[nodiscard]] std::string_view name_of(resilience::Admitted how);

/// Appends milliseconds, whole microseconds as decimals.
void append_ms(std::string& out, base::Duration value);

/// Lines for people.
[[nodiscard]] std::string explain_as_text(const Explained& explained);

/// One JSON object with the same facts.
[[nodiscard]] std::string explain_as_json(const Explained& explained);

}  // namespace spillway::exchange
