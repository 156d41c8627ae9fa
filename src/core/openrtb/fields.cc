#include "openrtb/fields.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/decimal.h"
#include "openrtb/document.h"
#include "openrtb/field_rows.h"
#include "openrtb/keys.h"

namespace spillway::openrtb {

namespace {

using fields::In;
using fields::kRows;
using fields::Row;
using fields::Rule;
using fields::Type;

constexpr size_t kPlaces = static_cast<size_t>(In::kCount);
constexpr size_t kMembers = static_cast<size_t>(Key::kCount);

/// What a member of an object must be: the index of a rule, so that a lookup touches one byte.
struct Rules {
  std::array<std::array<uint8_t, kMembers>, kPlaces> of{};
  std::array<Rule, 64> list{};  ///< The first is no rule.
  size_t count = 1;

  constexpr uint8_t index_of(Rule rule) {
    size_t i = 0;
    while (i < count && (list[i].type != rule.type || list[i].child != rule.child)) {
      ++i;
    }
    if (i == count) {
      list[count++] = rule;
    }
    return static_cast<uint8_t>(i);
  }

  [[nodiscard]] constexpr Rule operator()(In in, Key key) const {
    return list[of[static_cast<size_t>(in)][static_cast<size_t>(key)]];
  }
};

constexpr Rules kRules = [] {
  Rules rules;
  for (size_t in = static_cast<size_t>(In::kRequest); in < kPlaces; ++in) {
    rules.of[in][static_cast<size_t>(Key::ext)] = rules.index_of({.type = Type::kObject});
  }
  for (const Row& row : kRows) {
    for (const Key key : row.keys) {
      if (key != Key::kNone) {
        rules.of[static_cast<size_t>(row.in)][static_cast<size_t>(key)] =
            rules.index_of({.type = row.type, .child = row.child});
      }
    }
  }
  return rules;
}();

/// Members whose names are too long for the table of keys: strings, all of them.
bool is_name_of_long_string(In in, std::string_view name) {
  return (in == In::kImp && name == "displaymanagerver") ||
         ((in == In::kSite || in == In::kApp) && name == "inventorypartnerdomain");
}

/// Recursion goes along the table, which no object contains itself: as deep as the table, about 6.
/// Members say whether all is well; the first fault is kept aside.
class Checker {
 public:
  explicit Checker(const Document& document) : document_(document) {}

  bool object(NodeId id, In in) {
    for (NodeId at = document_.first_child(id); at != kAbsent; at = document_.node(at).next) {
      const Node& node = document_.node(at);
      const Rule rule = kRules(in, node.key);
      if (rule.type != Type::kAny && node.kind != Kind::kNull && !member(at, rule)) {
        return false;
      }
      if (node.key == Key::kOther && node.key_length > kLongestKey && node.kind != Kind::kNull &&
          node.kind != Kind::kString && is_long_string(in, at)) {
        return fail(at, "must be a string");
      }
    }
    return true;
  }

  [[nodiscard]] const Fault& fault() const { return fault_; }

 private:
  [[nodiscard]] bool is_long_string(In in, NodeId id) const {
    const Node& node = document_.node(id);
    const std::string_view raw = document_.text().substr(node.key_begin, node.key_length);
    const bool escaped = raw.contains('\\');
    return escaped ? is_name_of_long_string(in, document_.name(id))
                   : is_name_of_long_string(in, raw);
  }

  bool fail(NodeId id, std::string_view what) {
    fault_ = {.node = id, .what = what};
    return false;
  }

  bool member(NodeId id, Rule rule) {
    switch (rule.type) {
      case Type::kStrings:
        return array(id, {.type = Type::kString});
      case Type::kIntegers:
        return array(id, {.type = Type::kInteger});
      case Type::kObjects:
        return array(id, {.type = Type::kObject, .child = rule.child});
      case Type::kObject:
        if (document_.node(id).kind != Kind::kObject) {
          return fail(id, "must be an object");
        }
        return rule.child == In::kOpaque || object(id, rule.child);
      case Type::kString:
        return document_.node(id).kind == Kind::kString || fail(id, "must be a string");
      default:
        return number(id, rule.type);
    }
  }

  bool array(NodeId id, Rule element) {
    if (document_.node(id).kind != Kind::kArray) {
      return fail(id, "must be an array");
    }
    for (NodeId at = document_.first_child(id); at != kAbsent; at = document_.node(at).next) {
      if (!member(at, element)) {
        return false;
      }
    }
    return true;
  }

  bool number(NodeId id, Type type) {
    if (document_.node(id).kind != Kind::kNumber) {
      return fail(id, "must be a number");
    }
    if (type == Type::kNumber) {
      return true;
    }
    if (type == Type::kFloor) {
      return floor(id);
    }
    const std::optional<int64_t> value = document_.integer(id);
    if (!value) {
      return fail(id, "must be a whole number");
    }
    if (type == Type::kFlag && *value != 0 && *value != 1) {
      return fail(id, "must be 0 or 1");
    }
    if (type == Type::kNonNegative && *value < 0) {
      return fail(id, "must not be negative");
    }
    if (type == Type::kNonNegative && *value > INT32_MAX) {
      return fail(id, "is too large");
    }
    return true;
  }

  bool floor(NodeId id) {
    const auto micros = base::parse_micros(document_.raw(id), base::Rounding::kUp);
    if (!micros || *micros > kFloorSanityUnits * 1'000'000) {
      return fail(id, "is too large");
    }
    return *micros >= 0 || fail(id, "must not be negative");
  }

  const Document& document_;
  Fault fault_;
};

}  // namespace

std::optional<Fault> find_fault(const Document& document) {
  if (!document.is(document.root(), Kind::kObject)) {
    return Fault{.node = document.root(), .what = "must be a JSON object"};
  }
  Checker checker(document);
  if (checker.object(document.root(), In::kRequest)) {
    return std::nullopt;
  }
  return checker.fault();
}

}  // namespace spillway::openrtb
