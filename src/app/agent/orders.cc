#include "app/agent/orders.h"

#include <charconv>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "base/result.h"
#include "capacity/weight.h"

namespace spillway::app::agent {
namespace {

std::string_view trimmed(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const auto first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos
             ? std::string_view()
             : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

bool take_order(std::string_view order, OperatorOrders& out) {
  if (order == "freeze") {
    out.freeze = true;
  } else if (order == "dry-run") {
    out.dry_run = true;
  } else if (order == "drain") {
    out.drain = true;
  } else if (order.starts_with("pin ")) {
    const auto weight = parse_weight(trimmed(order.substr(4)));
    out.pin = weight.value_or(out.pin);
    return weight.has_value();
  } else {
    return order.empty();
  }
  return true;
}

}  // namespace

base::Result<OperatorOrders, std::string> parse_orders(std::string_view text) {
  OperatorOrders out;
  for (size_t number = 1; !text.empty(); ++number) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    if (!take_order(trimmed(line), out)) {
      return std::unexpected(fmt::format(
          "line {}: must be freeze, dry-run, drain or \"pin N\" with N from 1 to 256", number));
    }
  }
  return out;
}

std::optional<double> parse_weight(std::string_view text) {
  double weight = 0;
  const char* const first = text.data();
  const char* const last = first + text.size();
  const auto [end, error] = std::from_chars(first, last, weight);
  const bool good = error == std::errc() && end == last && weight >= capacity::kLeastWeight &&
                    weight <= capacity::kMostWeight;
  return good ? std::optional(weight) : std::nullopt;
}

OperatorOrders together(const OperatorOrders& a, const OperatorOrders& b) {
  return {.freeze = a.freeze || b.freeze,
          .dry_run = a.dry_run || b.dry_run,
          .drain = a.drain || b.drain,
          .pin = a.pin > 0 ? a.pin : b.pin};
}

}  // namespace spillway::app::agent
