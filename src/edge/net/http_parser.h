#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace spillway::net {

/// Bounds of one message.
struct ParseLimits {
  size_t header_bytes = 16 * 1024;
  size_t header_count = 100;
  size_t body_bytes = 256 * 1024;
};

enum class ParseError : uint8_t {
  kNone,
  kBadFraming,      ///< No HTTP/1.x message, or one that two readers could frame differently.
  kHeaderTooLarge,  ///< Header bytes or count, a chunk's header, all chunk extensions together or
                    ///< the trailer over the limit.
  kBodyTooLarge,
};

/// Reads one HTTP/1.x message out of a growing buffer, without sockets and without copying: header
/// positions are kept relative to the message's first byte, chunks are joined in place, so that the
/// buffer may move between two calls of feed().
///
/// Stricter than its grammar (Boost.Beast's): duplicate or listed lengths, a length beside a
/// transfer coding, codings other than `chunked`, any coding in HTTP/1.0, folded headers and a
/// second Host are errors. Trailers are checked and dropped; chunk extensions are dropped, and
/// together may be as long as a header.
///
/// A head that comes whole, in plain ASCII, of HTTP/1.1, framed by one Content-Length or without
/// a body, is read by a short way of our own (http_plain.cc), at about a third of the cost; the
/// grammar sees every other message from its first byte. What both take they take alike: tests and
/// the fuzz target compare messages whole and in pieces, which always go to the grammar.
///
/// One thread owns it. Memory: header positions, bounded by header_count.
/// Source: RFC 9112, sections 2-7.
class HttpParser {
 public:
  enum class Kind : uint8_t { kRequest, kResponse };
  enum class Progress : uint8_t { kMore, kWhole, kBad };

  explicit HttpParser(Kind kind);
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;
  ~HttpParser();

  /// Begins a message. Must be called before the first feed() and between messages.
  void start(const ParseLimits& limits);

  /// Parses on. `message` is the first byte of the message, `size` counts all bytes there, those
  /// of earlier calls included. Each byte is looked at about once. After kWhole and kBad: start().
  Progress feed(char* message, size_t size);

  /// The peer sent its last byte: kWhole when that ends the message, else kBad.
  Progress finish();

  /// Bytes of the message that are dealt with; after kWhole, where the next message begins.
  [[nodiscard]] size_t consumed() const { return raw_; }

  /// Moves bytes not yet parsed down to the end of the joined body; returns the new `size`.
  size_t compact(char* message, size_t size);

  /// Buffer size that the whole message certainly needs: more than `size` when Content-Length is
  /// known, else 0.
  [[nodiscard]] size_t size_hint() const;

  [[nodiscard]] ParseError error() const { return error_; }

  [[nodiscard]] bool header_done() const { return header_bytes_ != 0; }

  [[nodiscard]] bool keep_alive() const;

  [[nodiscard]] bool http10() const { return version_ < 11; }

  [[nodiscard]] bool expects_continue() const { return expects_continue_; }

  [[nodiscard]] uint16_t status() const { return status_; }

  [[nodiscard]] std::string_view method(const char* message) const {
    return view(message, method_);
  }

  [[nodiscard]] std::string_view target(const char* message) const {
    return view(message, target_);
  }

  [[nodiscard]] std::string_view body(const char* message) const;

  /// Replaces `out` by the headers in order.
  void headers(const char* message, std::vector<Header>& out) const;

  /// First value of `name`, empty when absent.
  [[nodiscard]] std::string_view header(const char* message, std::string_view name) const;

 private:
  struct Grammar;
  template <bool IsRequest>
  struct Sink;

  struct Range {
    uint32_t at = 0;
    uint32_t size = 0;
  };

  struct Field {
    Range name, value;
  };

  /// Who reads the message at hand.
  enum class Way : uint8_t { kUndecided, kPlain, kGrammar };

  static std::string_view view(const char* message, Range range) {
    return {message + range.at, range.size};
  }

  [[nodiscard]] Range range(const char* data, size_t size) const;
  [[nodiscard]] bool known_length(uint64_t& length) const;
  void forget_head();
  void start_grammar();
  void keep_field(std::string_view name, std::string_view value);

  // The plain way. False: not plain; members may hold part of a head then.
  bool read_plain_head(size_t size);
  bool plain_request_line(const char*& at, const char* end);
  bool plain_status_line(const char*& at, const char* end);
  bool plain_field(const char*& at, const char* end);
  bool plain_meaning(std::string_view name, std::string_view value);
  Progress read_plain_body(size_t size);

  bool on_field(std::string_view name, std::string_view value, int kind);
  bool on_extensions(size_t bytes);
  void on_body(const char* data, size_t size);
  template <typename Parser>
  Progress drive(Parser& parser, size_t size);
  Progress fail(ParseError error);

  std::unique_ptr<Grammar> grammar_;
  Kind kind_;
  ParseLimits limits_;
  char* message_ = nullptr;  ///< During feed() only.
  size_t message_size_ = 0;  ///< During feed() only.
  size_t raw_ = 0;
  size_t header_bytes_ = 0;  ///< 0 until the header is whole.
  size_t body_at_ = 0;
  size_t body_size_ = 0;
  size_t extension_bytes_ = 0;
  std::vector<Field> fields_;
  uint32_t name_sizes_ = 0;  ///< A bit for each size of a name in fields_ (31: and longer).
  uint64_t plain_length_ = 0;
  Range method_, target_;
  uint16_t status_ = 0;
  int version_ = 11;
  ParseError error_ = ParseError::kNone;
  Way way_ = Way::kUndecided;
  bool plain_close_ = false;
  bool expects_continue_ = false;
  bool saw_length_ = false;
  bool saw_coding_ = false;
  bool saw_host_ = false;
};

}  // namespace spillway::net
