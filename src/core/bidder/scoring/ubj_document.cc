#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "bidder/scoring/document.h"
#include "bidder/scoring/model_file.h"

namespace spillway::bidder {

namespace {

// What a container says before its values: the type of all, how many, or neither.
struct Header {
  char type = 0;  // 0: each value has its own marker.
  std::optional<size_t> count;
};

/// One pass over the bytes. Every read is bounded by what is left, so that no count can ask for
/// more memory than the file has bytes, times the size of a number.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool read_root(DocValue& out) {
    char marker = 0;
    if (!take(marker) || !read_value(marker, out, 0)) {
      return false;
    }
    return at_ == bytes_.size() || fail("bytes after the document");
  }

  [[nodiscard]] std::string error() const {
    return "UBJSON: " + error_ + " at byte " + std::to_string(at_);
  }

 private:
  bool fail(std::string_view what) {
    error_ = what;
    return false;
  }

  [[nodiscard]] size_t left() const { return bytes_.size() - at_; }

  bool take(char& out) {
    if (left() == 0) {
      return fail("it ends too early");
    }
    out = bytes_[at_++];
    return true;
  }

  template <typename T>
  bool take_big_endian(T& out) {
    if (left() < sizeof(T)) {
      return fail("it ends too early");
    }
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      bits = bits << 8 | static_cast<uint8_t>(bytes_[at_++]);
    }
    if constexpr (sizeof(T) == 8) {
      out = std::bit_cast<T>(bits);
    } else if constexpr (sizeof(T) == 4) {
      out = std::bit_cast<T>(static_cast<uint32_t>(bits));
    } else {
      out = static_cast<T>(bits);
    }
    return true;
  }

  template <typename T>
  bool read_as(double& out) {
    T value{};
    if (!take_big_endian(value)) {
      return false;
    }
    out = static_cast<double>(value);
    return true;
  }

  bool read_number(char marker, double& out);
  bool read_length(size_t& out);
  bool read_text(std::string& out);
  bool read_header(Header& out);
  bool read_value(char marker, DocValue& out, size_t depth);
  bool read_array(DocValue& out, size_t depth);
  bool read_numbers(char type, size_t count, DocValue& out);
  bool read_object(DocValue& out, size_t depth);
  bool append(DocValue&& item, DocValue& array);

  static constexpr std::string_view kNumberMarkers = "iUIlLdD";

  static constexpr std::string_view kStructured = "{[SC";

  std::string_view bytes_;
  size_t at_ = 0;
  size_t values_ = 0;
  std::string error_;
};

bool Reader::read_number(char marker, double& out) {
  switch (marker) {
    case 'i':
      return read_as<int8_t>(out);
    case 'U':
      return read_as<uint8_t>(out);
    case 'I':
      return read_as<int16_t>(out);
    case 'l':
      return read_as<int32_t>(out);
    case 'L':
      return read_as<int64_t>(out);
    case 'd':
      return read_as<float>(out);
    case 'D':
      return read_as<double>(out);
    default:
      return fail("a marker that is no number's");
  }
}

bool Reader::read_length(size_t& out) {
  char marker = 0;
  double value = 0;
  if (!take(marker)) {
    return false;
  }
  if (marker == 'd' || marker == 'D') {
    return fail("a length that is no whole number");
  }
  if (!read_number(marker, value)) {
    return false;
  }
  // No more values or characters than bytes that are left.
  if (value < 0 || value > static_cast<double>(left())) {
    return fail("a length beyond the end");
  }
  out = static_cast<size_t>(value);
  return true;
}

bool Reader::read_text(std::string& out) {
  size_t length = 0;
  if (!read_length(length)) {
    return false;
  }
  out.assign(bytes_.substr(at_, length));
  at_ += length;
  return true;
}

bool Reader::read_header(Header& out) {
  if (left() > 0 && bytes_[at_] == '$') {
    ++at_;
    if (!take(out.type)) {
      return false;
    }
    if (left() == 0 || bytes_[at_] != '#') {
      return fail("a type without a count");
    }
  }
  if (left() > 0 && bytes_[at_] == '#') {
    ++at_;
    size_t count = 0;
    if (!read_length(count)) {
      return false;
    }
    out.count = count;
  }
  return true;
}

bool Reader::append(DocValue&& item, DocValue& array) {
  using Kind = DocValue::Kind;
  const bool flat =
      item.kind == Kind::kNumber || item.kind == Kind::kBool || item.kind == Kind::kNull;
  if (array.kind == Kind::kNumbers && flat) {
    array.numbers.push_back(item.kind == Kind::kNull ? std::numeric_limits<double>::quiet_NaN()
                                                     : item.number);
    return true;
  }
  if (array.kind == Kind::kNumbers && !array.numbers.empty()) {
    return fail("an array of numbers and other things");
  }
  array.kind = Kind::kList;
  array.items.push_back(std::move(item));
  return true;
}

bool Reader::read_numbers(char type, size_t count, DocValue& out) {
  out.numbers.resize(count);
  for (double& number : out.numbers) {
    if (!read_number(type, number)) {
      return false;
    }
  }
  return true;
}

bool Reader::read_array(DocValue& out, size_t depth) {
  out.kind = DocValue::Kind::kNumbers;
  Header header;
  if (!read_header(header)) {
    return false;
  }
  if (std::string_view("TFZN").contains(header.type)) {
    return fail("a container of values without bytes");
  }
  if (header.type != 0 && kNumberMarkers.contains(header.type)) {
    return read_numbers(header.type, header.count.value_or(0), out);
  }
  for (size_t i = 0; !header.count || i < *header.count; ++i) {
    char marker = header.type;
    if (marker == 0 && !take(marker)) {
      return false;
    }
    if (!header.count && marker == ']') {
      return true;
    }
    DocValue item;
    if (!read_value(marker, item, depth + 1) || !append(std::move(item), out)) {
      return false;
    }
  }
  return true;
}

bool Reader::read_object(DocValue& out, size_t depth) {
  out.kind = DocValue::Kind::kObject;
  Header header;
  if (!read_header(header)) {
    return false;
  }
  for (size_t i = 0; !header.count || i < *header.count; ++i) {
    if (!header.count && left() > 0 && bytes_[at_] == '}') {
      ++at_;
      return true;
    }
    std::string name;
    if (!read_text(name)) {
      return false;
    }
    if (out.names.size() == kMaxDocMembers || out.find(name) != nullptr) {
      return fail("too many members, or \"" + name + "\" is there twice,");
    }
    char marker = header.type;
    out.names.push_back(std::move(name));
    if ((marker == 0 && !take(marker)) ||
        !read_value(marker, out.items.emplace_back(), depth + 1)) {
      return false;
    }
  }
  return true;
}

bool Reader::read_value(char marker, DocValue& out, size_t depth) {
  if (depth > kMaxDocDepth) {
    return fail("nested too deep");
  }
  if (kStructured.contains(marker) && ++values_ > kMaxDocValues) {
    return fail("more than a million values");
  }
  switch (marker) {
    case '{':
      return read_object(out, depth);
    case '[':
      return read_array(out, depth);
    case 'S':
      out.kind = DocValue::Kind::kString;
      return read_text(out.text);
    case 'C': {
      char only = 0;
      out.kind = DocValue::Kind::kString;
      if (!take(only)) {
        return false;
      }
      out.text.assign(1, only);
      return true;
    }
    case 'Z':
      return true;
    case 'T':
    case 'F':
      out.kind = DocValue::Kind::kBool;
      out.number = marker == 'T' ? 1 : 0;
      return true;
    default:
      out.kind = DocValue::Kind::kNumber;
      return read_number(marker, out.number);
  }
}

}  // namespace

const DocValue* DocValue::find(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr : &items[static_cast<size_t>(found - names.begin())];
}

base::Result<DocValue, ModelError> read_ubj(std::string_view bytes) {
  DocValue root;
  Reader reader(bytes);
  if (!reader.read_root(root)) {
    return std::unexpected(ModelError{ModelErrc::kSyntax, reader.error()});
  }
  return root;
}

base::Result<DocValue, ModelError> read_document(std::string_view bytes) {
  if (bytes.size() > kMaxModelBytes) {
    return std::unexpected(ModelError{ModelErrc::kTooLarge, "more than 64 MiB"});
  }
  if (bytes.empty()) {
    return std::unexpected(ModelError{ModelErrc::kSyntax, "it is empty"});
  }
  // JSON has a quote, a brace or white space there; UBJSON the marker of a length or container.
  constexpr std::string_view kLengthMarkers = "iUIlL#$";
  if (bytes.size() > 1 && bytes[0] == '{' && kLengthMarkers.contains(bytes[1])) {
    return read_ubj(bytes);
  }
  if (bytes[0] != '{' && !std::string_view(" \t\r\n").contains(bytes[0])) {
    return std::unexpected(ModelError{ModelErrc::kSyntax,
                                      "neither JSON nor UBJSON; XGBoost's old binary models are "
                                      "not read: save as .json or .ubj"});
  }
  return read_json(bytes);
}

}  // namespace spillway::bidder
