#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "base/result.h"
#include "bidder/scoring/document.h"
#include "bidder/scoring/model_file.h"

namespace spillway::bidder {

namespace {

namespace dom = simdjson::dom;

class Builder {
 public:
  // False when `error` says why.
  bool build(dom::element from, DocValue& out);

  std::string error;  // What is wrong.

 private:
  bool build_array(dom::array from, DocValue& out);
  bool build_object(dom::object from, DocValue& out);

  size_t values_ = 0;
};

double number_of(dom::element from) {
  switch (from.type()) {
    case dom::element_type::INT64:
      return static_cast<double>(int64_t{from.get_int64().value_unsafe()});
    case dom::element_type::UINT64:
      return static_cast<double>(uint64_t{from.get_uint64().value_unsafe()});
    case dom::element_type::DOUBLE:
      return from.get_double().value_unsafe();
    case dom::element_type::BOOL:
      return from.get_bool().value_unsafe() ? 1 : 0;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

bool is_flat(dom::element from) {
  const auto type = from.type();
  return type != dom::element_type::ARRAY && type != dom::element_type::OBJECT &&
         type != dom::element_type::STRING;
}

bool Builder::build_array(dom::array from, DocValue& out) {
  bool flat = true;
  for (const dom::element item : from) {
    flat = flat && is_flat(item);
  }
  if (flat) {
    out.kind = DocValue::Kind::kNumbers;
    for (const dom::element item : from) {
      out.numbers.push_back(number_of(item));
    }
    return true;
  }
  out.kind = DocValue::Kind::kList;
  for (const dom::element item : from) {
    if (!build(item, out.items.emplace_back())) {
      return false;
    }
  }
  return true;
}

bool Builder::build_object(dom::object from, DocValue& out) {
  out.kind = DocValue::Kind::kObject;
  for (const auto [name, value] : from) {
    if (out.names.size() == kMaxDocMembers) {
      error = "an object with more than 1024 members";
      return false;
    }
    if (out.find(name) != nullptr) {
      error = "member \"" + std::string(name) + "\" is there twice";
      return false;
    }
    out.names.emplace_back(name);
    if (!build(value, out.items.emplace_back())) {
      return false;
    }
  }
  return true;
}

bool Builder::build(dom::element from, DocValue& out) {
  if (++values_ > kMaxDocValues) {
    error = "more than a million values";
    return false;
  }
  switch (from.type()) {
    case dom::element_type::ARRAY:
      return build_array(from.get_array().value_unsafe(), out);
    case dom::element_type::OBJECT:
      return build_object(from.get_object().value_unsafe(), out);
    case dom::element_type::STRING:
      out.kind = DocValue::Kind::kString;
      out.text = from.get_string().value_unsafe();
      return true;
    case dom::element_type::NULL_VALUE:
      return true;
    case dom::element_type::BOOL:
      out.kind = DocValue::Kind::kBool;
      break;
    default:
      out.kind = DocValue::Kind::kNumber;
      break;
  }
  out.number = number_of(from);
  return true;
}

}  // namespace

base::Result<DocValue, ModelError> read_json(std::string_view bytes) {
  dom::parser parser(kMaxModelBytes);
  if (const auto error = parser.allocate(bytes.size(), kMaxDocDepth)) {
    return std::unexpected(ModelError{ModelErrc::kTooLarge, simdjson::error_message(error)});
  }
  const auto root = parser.parse(bytes.data(), bytes.size());
  if (root.error() != simdjson::SUCCESS) {
    return std::unexpected(ModelError{
        ModelErrc::kSyntax, std::string("JSON: ") + simdjson::error_message(root.error())});
  }
  DocValue value;
  Builder builder;
  if (!builder.build(root.value_unsafe(), value)) {
    return std::unexpected(ModelError{ModelErrc::kSyntax, "JSON: " + builder.error});
  }
  return value;
}

}  // namespace spillway::bidder
