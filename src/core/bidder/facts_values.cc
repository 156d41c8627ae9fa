// Single values and lists of them, as FactsReader takes them from a document.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/decimal.h"
#include "base/money.h"
#include "bidder/canonical.h"
#include "bidder/imp_facts_reader.h"
#include "bidder/model.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::bidder {

using openrtb::kAbsent;
using openrtb::Kind;
using openrtb::NodeId;

std::string_view FactsReader::text(NodeId node) {
  if (!document_.is(node, Kind::kString)) {
    return {};
  }
  if (!document_.node(node).escaped) {
    return document_.raw_string(node);
  }
  facts_.scratch.clear();
  document_.append_string(node, facts_.scratch);
  return facts_.pool.add(facts_.scratch);
}

std::string_view FactsReader::id(NodeId node) {
  if (!document_.is(node, Kind::kNumber)) {
    return text(node);
  }
  const std::optional<int64_t> value = document_.integer(node);
  if (!value) {
    return {};
  }
  constexpr size_t kDigits = 20;
  char digits[kDigits];
  const auto [end, error] = std::to_chars(digits, digits + kDigits, *value);
  return facts_.pool.add({digits, end});
}

std::string_view FactsReader::value(Dimension dimension, NodeId node) {
  const std::string_view raw = id(node);
  return !raw.empty() && canonical(dimension, raw, facts_.scratch) ? facts_.pool.add(facts_.scratch)
                                                                   : std::string_view{};
}

std::string_view FactsReader::domain(NodeId node) {
  return canonical_domain(text(node), facts_.scratch) ? facts_.pool.add(facts_.scratch)
                                                      : std::string_view{};
}

int32_t FactsReader::number(NodeId node) const {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(
      std::clamp<int64_t>(document_.integer(node).value_or(0), -kMost, kMost));
}

void FactsReader::numbers(NodeId list, std::vector<int32_t>& out) const {
  for (const NodeId node : document_.children(list)) {
    if (const auto value = document_.integer(node);
        value && *value >= 0 && *value <= std::numeric_limits<int32_t>::max()) {
      out.push_back(static_cast<int32_t>(*value));
    }
  }
}

void FactsReader::texts(NodeId list, std::vector<std::string_view>& out) {
  for (const NodeId node : document_.children(list)) {
    if (const std::string_view value = id(node); !value.empty()) {
      out.push_back(value);
    }
  }
}

void FactsReader::values(Dimension dimension, NodeId list, std::vector<std::string_view>& out) {
  for (const NodeId node : document_.children(list)) {
    if (const std::string_view value = this->value(dimension, node); !value.empty()) {
      out.push_back(value);
    }
  }
}

void FactsReader::domains(NodeId list, std::vector<std::string_view>& out) {
  for (const NodeId node : document_.children(list)) {
    if (const std::string_view value = domain(node); !value.empty()) {
      out.push_back(value);
    }
  }
}

FactsReader::Price FactsReader::price(NodeId amount, NodeId code) const {
  Price out;
  if (amount != kAbsent) {
    const auto micros = base::parse_micros(document_.raw(amount), base::Rounding::kUp);
    out.known = document_.is(amount, Kind::kNumber) && micros && *micros >= 0;
    out.floor.micros = out.known ? *micros : 0;
  }
  if (code != kAbsent) {
    const auto currency = openrtb::currency_of(document_, code);
    out.known = out.known && (currency || out.floor.micros == 0);
    out.currency = currency.value_or(base::Currency{});
  }
  return out;
}

}  // namespace spillway::bidder
