// Arbitrary bytes, in pieces, into the request and the answer parser, without sockets: the buffer
// grows, moves and is compacted as connections do it. Beside memory safety it checks that the same
// bytes whole and in pieces give the same messages.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "net/answer_headers.h"
#include "net/http.h"
#include "net/http_parser.h"

namespace {

using spillway::net::Header;
using spillway::net::HttpParser;
using spillway::net::ParseLimits;

constexpr ParseLimits kLimits{.header_bytes = 1024, .header_count = 16, .body_bytes = 4096};

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void append(std::string& out, std::string_view text) {
  out.append(text.data(), text.size());
  out.push_back('|');
}

void describe(const HttpParser& parser, const char* message, std::string& out) {
  append(out, parser.method(message));
  append(out, parser.target(message));
  std::vector<Header> headers;
  parser.headers(message, headers);
  require(headers.size() <= kLimits.header_count);
  for (const Header& header : headers) {
    append(out, header.name);
    append(out, header.value);
  }
  require(parser.body(message).size() <= kLimits.body_bytes);
  append(out, parser.body(message));
  out += std::to_string(parser.status()) + (parser.keep_alive() ? "k" : "c");
  (void)spillway::net::retry_after(parser.header(message, "Retry-After"));
  (void)spillway::net::keep_alive(parser.header(message, "Keep-Alive"));
}

/// Parses `input` in pieces of `step` bytes (0: whole); returns what was understood.
std::string run(HttpParser::Kind kind, std::string_view input, size_t step) {
  HttpParser parser(kind);
  parser.start(kLimits);
  std::string understood;
  std::vector<char> buffer;  // exactly as large as its bytes: an overrun is seen
  size_t at = 0;
  while (true) {
    const size_t piece = step == 0 ? input.size() - at : std::min(step, input.size() - at);
    buffer.insert(buffer.end(), input.begin() + static_cast<std::ptrdiff_t>(at),
                  input.begin() + static_cast<std::ptrdiff_t>(at + piece));
    buffer.shrink_to_fit();
    at += piece;
    auto progress = HttpParser::Progress::kMore;
    while (!buffer.empty() &&
           (progress = parser.feed(buffer.data(), buffer.size())) == HttpParser::Progress::kWhole) {
      describe(parser, buffer.data(), understood);
      buffer.erase(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(parser.consumed()));
      buffer.shrink_to_fit();
      parser.start(kLimits);
      progress = HttpParser::Progress::kMore;
    }
    if (progress == HttpParser::Progress::kBad) {
      return understood + "!";
    }
    if (at == input.size()) {
      break;
    }
    if (step % 2 == 1 && !buffer.empty()) {
      buffer.resize(parser.compact(buffer.data(), buffer.size()));
    }
  }
  if (!buffer.empty() && parser.finish() == HttpParser::Progress::kWhole) {
    describe(parser, buffer.data(), understood);
  }
  return understood;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) {
    return 0;
  }
  const size_t step = 1 + (data[0] % 61U);
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (const auto kind : {HttpParser::Kind::kRequest, HttpParser::Kind::kResponse}) {
    const std::string whole = run(kind, input, 0);
    const std::string pieces = run(kind, input, step);
    // Where a limit is met may depend on how the bytes came; what was understood before may not.
    const size_t common = std::min(whole.size(), pieces.size());
    const size_t end =
        common - (common != 0 && (whole.ends_with('!') || pieces.ends_with('!')) ? 1 : 0);
    require(std::string_view(whole).substr(0, end) == std::string_view(pieces).substr(0, end));
  }
  return 0;
}
