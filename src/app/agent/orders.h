#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "capacity/weight.h"

namespace spillway::app::agent {

/// What an operator wants, by one of the ways to say so.
struct OperatorOrders {
  bool freeze = false;
  bool dry_run = false;
  bool drain = false;
  double pin = 0;  ///< 0: none; else the weight, [1, 256].

  friend bool operator==(const OperatorOrders&, const OperatorOrders&) = default;
};

/// The file: an order a line, `freeze`, `dry-run`, `drain`, `pin N`; empty lines and what follows a
/// `#` are nothing. The error is a sentence with the line's number; the orders before it stand.
[[nodiscard]] base::Result<OperatorOrders, std::string> parse_orders(std::string_view text);

/// A weight to pin to; nothing when the text is none of [1, 256].
[[nodiscard]] std::optional<double> parse_weight(std::string_view text);

/// All ways together: any may freeze, drain or dry-run; the first that pins wins.
[[nodiscard]] OperatorOrders together(const OperatorOrders& a, const OperatorOrders& b);

}  // namespace spillway::app::agent
