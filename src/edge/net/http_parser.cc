#include "net/http_parser.h"

// Bytes from the wire must never reach an assertion; some of Beast's are wrong on short input.
#define BOOST_DISABLE_ASSERTS
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/beast/http/basic_parser.hpp>

#include "net/http.h"

namespace spillway::net {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

namespace {

enum FieldKind : uint8_t { kOther, kLength, kCoding, kHost, kExpect };

std::string_view std_view(beast::string_view view) { return {view.data(), view.size()}; }

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

uint32_t size_bit(size_t size) { return uint32_t{1} << std::min<size_t>(size, 31); }

ParseError classify(const beast::error_code& error) {
  if (error == bhttp::error::body_limit) {
    return ParseError::kBodyTooLarge;
  }
  if (error == bhttp::error::header_limit) {
    return ParseError::kHeaderTooLarge;
  }
  return ParseError::kBadFraming;
}

}  // namespace

/// Hands Beast's events to the owner; keeps nothing.
template <bool IsRequest>
struct HttpParser::Sink final : bhttp::basic_parser<IsRequest> {
  explicit Sink(HttpParser& parser) : owner(parser) {}

  void on_request_impl(bhttp::verb /*verb*/, beast::string_view method, beast::string_view target,
                       int version, beast::error_code& /*ec*/) override {
    owner.method_ = owner.range(method.data(), method.size());
    owner.target_ = owner.range(target.data(), target.size());
    owner.version_ = version;
  }

  void on_response_impl(int code, beast::string_view /*reason*/, int version,
                        beast::error_code& /*ec*/) override {
    owner.status_ = static_cast<uint16_t>(code);
    owner.version_ = version;
  }

  void on_field_impl(bhttp::field name, beast::string_view name_text, beast::string_view value,
                     beast::error_code& ec) override {
    FieldKind kind = kOther;
    if (name == bhttp::field::content_length) {
      kind = kLength;
    } else if (name == bhttp::field::transfer_encoding) {
      kind = kCoding;
    } else if (name == bhttp::field::host) {
      kind = kHost;
    } else if (name == bhttp::field::expect) {
      kind = kExpect;
    }
    if (!owner.on_field(std_view(name_text), std_view(value), kind)) {
      ec = bhttp::error::bad_field;
    }
  }

  void on_header_impl(beast::error_code& /*ec*/) override {}

  void on_body_init_impl(const boost::optional<uint64_t>& /*length*/,
                         beast::error_code& /*ec*/) override {}

  size_t on_body_impl(beast::string_view body, beast::error_code& /*ec*/) override {
    owner.on_body(body.data(), body.size());
    return body.size();
  }

  void on_chunk_header_impl(uint64_t /*size*/, beast::string_view extensions,
                            beast::error_code& ec) override {
    if (!owner.on_extensions(extensions.size())) {
      ec = bhttp::error::bad_chunk_extension;
    }
  }

  size_t on_chunk_body_impl(uint64_t /*remain*/, beast::string_view body,
                            beast::error_code& /*ec*/) override {
    owner.on_body(body.data(), body.size());
    return body.size();
  }

  void on_finish_impl(beast::error_code& /*ec*/) override {}

  HttpParser& owner;
};

struct HttpParser::Grammar {
  std::optional<Sink<true>> request;
  std::optional<Sink<false>> response;
};

HttpParser::HttpParser(Kind kind) : grammar_(std::make_unique<Grammar>()), kind_(kind) {}

HttpParser::~HttpParser() = default;

void HttpParser::start(const ParseLimits& limits) {
  limits_ = limits;
  raw_ = header_bytes_ = body_at_ = body_size_ = extension_bytes_ = 0;
  way_ = Way::kUndecided;
  forget_head();
}

void HttpParser::forget_head() {
  fields_.clear();
  name_sizes_ = 0;
  method_ = target_ = {};
  status_ = 0;
  version_ = 11;
  error_ = ParseError::kNone;
  expects_continue_ = saw_length_ = saw_coding_ = saw_host_ = plain_close_ = false;
  plain_length_ = 0;
}

void HttpParser::start_grammar() {
  way_ = Way::kGrammar;
  forget_head();
  const auto prepare = [this](auto& parser) {
    // Beast's own header limit forgets what earlier calls consumed; drive() has ours.
    parser.header_limit(std::numeric_limits<uint32_t>::max());
    parser.body_limit(limits_.body_bytes);
  };
  if (kind_ == Kind::kRequest) {
    prepare(grammar_->request.emplace(*this));
  } else {
    prepare(grammar_->response.emplace(*this));
  }
}

void HttpParser::keep_field(std::string_view name, std::string_view value) {
  fields_.push_back(
      {.name = range(name.data(), name.size()), .value = range(value.data(), value.size())});
  name_sizes_ |= size_bit(name.size());
}

HttpParser::Progress HttpParser::fail(ParseError error) {
  error_ = error;
  return Progress::kBad;
}

HttpParser::Range HttpParser::range(const char* data, size_t size) const {
  return {.at = static_cast<uint32_t>(data - message_), .size = static_cast<uint32_t>(size)};
}

bool HttpParser::on_field(std::string_view name, std::string_view value, int kind) {
  if (fields_.size() >= limits_.header_count) {
    error_ = ParseError::kHeaderTooLarge;
    return false;
  }
  // A folded value is either a copy somewhere else or stands behind a line end.
  const char* const after_name = name.data() + name.size();
  const std::less<> before;
  if (before(value.data(), after_name) || before(message_ + message_size_, value.data()) ||
      std::memchr(after_name, '\n', static_cast<size_t>(value.data() - after_name)) != nullptr) {
    return false;
  }
  switch (kind) {
    case kLength:
      if (std::exchange(saw_length_, true) || !all_digits(value)) {
        return false;
      }
      break;
    case kCoding:
      if (std::exchange(saw_coding_, true) || version_ < 11 || !same_name(value, "chunked")) {
        return false;
      }
      break;
    case kHost:
      if (kind_ == Kind::kRequest && std::exchange(saw_host_, true)) {
        return false;
      }
      break;
    case kExpect:
      expects_continue_ = version_ >= 11 && same_name(value, "100-continue");
      break;
    default:
      break;
  }
  if (header_bytes_ == 0) {  // else a trailer: dropped
    keep_field(name, value);
  }
  return true;
}

bool HttpParser::on_extensions(size_t bytes) {
  extension_bytes_ += bytes;
  if (extension_bytes_ <= limits_.header_bytes) {
    return true;
  }
  error_ = ParseError::kHeaderTooLarge;
  return false;
}

void HttpParser::on_body(const char* data, size_t size) {
  if (body_size_ == 0) {
    body_at_ = static_cast<size_t>(data - message_);
  }
  char* const end = message_ + body_at_ + body_size_;
  if (end != data) {
    std::memmove(end, data, size);
  }
  body_size_ += size;
}

// start_grammar() fills the optional of the parser's kind, and comes first.
// NOLINTBEGIN(bugprone-unchecked-optional-access)
template <typename Parser>
HttpParser::Progress HttpParser::drive(Parser& parser, size_t size) {
  do {
    beast::error_code ec;
    raw_ += parser.put(boost::asio::const_buffer(message_ + raw_, size - raw_), ec);
    if (header_bytes_ == 0 && parser.is_header_done()) {
      header_bytes_ = raw_;
      if (!ec && kind_ == Kind::kRequest && version_ >= 11 && !saw_host_) {
        return fail(ParseError::kBadFraming);  // RFC 9112, 3.2
      }
    }
    const size_t header_so_far = header_bytes_ != 0 ? header_bytes_ : size;
    if (!ec && header_so_far > limits_.header_bytes) {
      return fail(ParseError::kHeaderTooLarge);
    }
    if (ec == bhttp::error::need_more) {
      const size_t pending = header_bytes_ != 0 ? size - raw_ : size;
      return pending > limits_.header_bytes ? fail(ParseError::kHeaderTooLarge) : Progress::kMore;
    }
    if (ec) {
      return fail(error_ != ParseError::kNone ? error_ : classify(ec));
    }
    if (parser.is_done()) {
      return Progress::kWhole;
    }
  } while (raw_ < size);
  return Progress::kMore;
}

HttpParser::Progress HttpParser::feed(char* message, size_t size) {
  message_ = message;
  message_size_ = size;
  if (way_ == Way::kUndecided) {
    if (read_plain_head(size)) {
      way_ = Way::kPlain;
    } else {
      start_grammar();
    }
  }
  if (way_ == Way::kPlain) {
    return read_plain_body(size);
  }
  return kind_ == Kind::kRequest ? drive(*grammar_->request, size)
                                 : drive(*grammar_->response, size);
}

HttpParser::Progress HttpParser::finish() {
  beast::error_code ec = bhttp::error::partial_message;
  if (kind_ == Kind::kResponse && header_bytes_ != 0 && way_ == Way::kGrammar) {
    grammar_->response->put_eof(ec);
  }
  return ec ? fail(ParseError::kBadFraming) : Progress::kWhole;
}

size_t HttpParser::compact(char* message, size_t size) {
  const size_t body_end = body_at_ + body_size_;
  if (body_size_ == 0 || body_end >= raw_) {
    return size;
  }
  std::memmove(message + body_end, message + raw_, size - raw_);
  const size_t moved_by = raw_ - body_end;
  raw_ = body_end;
  return size - moved_by;
}

bool HttpParser::known_length(uint64_t& length) const {
  if (header_bytes_ == 0 || !saw_length_) {
    return false;
  }
  if (way_ == Way::kPlain) {
    length = plain_length_;
    return true;
  }
  const auto known = kind_ == Kind::kRequest ? grammar_->request->content_length()
                                             : grammar_->response->content_length();
  length = known.value_or(0);
  return known.has_value();
}

size_t HttpParser::size_hint() const {
  uint64_t length = 0;
  return known_length(length) && length <= limits_.body_bytes ? header_bytes_ + length : 0;
}

bool HttpParser::keep_alive() const {
  if (way_ == Way::kPlain) {
    return !plain_close_;
  }
  return kind_ == Kind::kRequest ? grammar_->request->keep_alive()
                                 : grammar_->response->keep_alive();
}

// NOLINTEND(bugprone-unchecked-optional-access)

std::string_view HttpParser::body(const char* message) const {
  return {message + (body_size_ != 0 ? body_at_ : header_bytes_), body_size_};
}

void HttpParser::headers(const char* message, std::vector<Header>& out) const {
  out.clear();
  for (const Field& field : fields_) {
    out.push_back({.name = view(message, field.name), .value = view(message, field.value)});
  }
}

std::string_view HttpParser::header(const char* message, std::string_view name) const {
  if ((name_sizes_ & size_bit(name.size())) == 0) {
    return {};
  }
  for (const Field& field : fields_) {
    if (same_name(view(message, field.name), name)) {
      return view(message, field.value);
    }
  }
  return {};
}

}  // namespace spillway::net
