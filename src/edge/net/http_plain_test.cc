// The parser's short way against its grammar: a message that comes in two pieces always goes to the
// grammar, so whole and cut must be understood alike, whatever the bytes.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "net/http.h"
#include "net/http_parser.h"

namespace spillway::net {
namespace {

using Kind = HttpParser::Kind;

constexpr ParseLimits kLimits{.header_bytes = 256, .header_count = 6, .body_bytes = 32};

/// What the parser makes of `message` when its first `cut` bytes come first; 0: all at once.
std::string understood(Kind kind, std::string message, size_t cut) {
  HttpParser parser(kind);
  parser.start(kLimits);
  auto progress = HttpParser::Progress::kMore;
  if (cut != 0) {
    progress = parser.feed(message.data(), cut);
  }
  if (progress == HttpParser::Progress::kMore) {
    progress = parser.feed(message.data(), message.size());
  }
  if (progress == HttpParser::Progress::kBad) {
    return "bad " + std::to_string(static_cast<int>(parser.error()));
  }
  std::string text = progress == HttpParser::Progress::kWhole ? "whole" : "more";
  text += " head " + std::to_string(parser.header_done());
  if (!parser.header_done()) {
    return text;
  }
  const char* const bytes = message.data();
  text += " used " + std::to_string(parser.consumed()) + " hint " +
          std::to_string(parser.size_hint()) + " status " + std::to_string(parser.status());
  text += parser.http10() ? " 1.0" : " 1.1";
  text += parser.keep_alive() ? " stays" : " closes";
  text += parser.expects_continue() ? " expects" : "";
  text.append(" ").append(parser.method(bytes)).append(" ").append(parser.target(bytes));
  std::vector<Header> headers;
  parser.headers(bytes, headers);
  for (const Header& header : headers) {
    text.append("|").append(header.name).append("=").append(header.value);
  }
  text.append("|").append(parser.header(bytes, "content-type"));
  text.append("|").append(parser.body(bytes));
  if (progress == HttpParser::Progress::kMore) {
    text += parser.finish() == HttpParser::Progress::kWhole ? " ended" : " cut short";
  }
  return text;
}

void expect_alike(Kind kind, const std::string& message) {
  const std::string whole = understood(kind, message, 0);
  ASSERT_EQ(whole, understood(kind, message, 1)) << message;
}

const std::vector<std::string>& requests() {
  static const std::vector<std::string> kMessages{
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST /openrtb2/auction?x=1 HTTP/1.1\r\nHost: a.example\r\nContent-Type: "
      "application/json\r\nContent-Length: 5\r\n\r\nhello",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\nConnection: close\r\n\r\npart",
      "POST / HTTP/1.1\r\nhost:a\r\ncontent-length:3  \r\nCONNECTION:  Keep-Alive\r\n\r\nabcGET / "
      "HTTP",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
      "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 33\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\nF: 6\r\nG: 7\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nA: " + std::string(300, 'a') + "\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n folded\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nA: \xc3\xa4\r\nEmpty:\r\nSpaces:   \r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, upgrade\r\nUpgrade: h2c\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nProxy-Connection: close\r\n\r\n"};
  return kMessages;
}

const std::vector<std::string>& answers() {
  static const std::vector<std::string> kMessages{
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
      "HTTP/1.1 204 No Content\r\nDate: Mon, 30 Nov 2026 08:30:05 GMT\r\n\r\n",
      "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: 20\r\nConnection: keep-alive\r\n\r\nless",
      "HTTP/1.1 200 OK\r\n\r\nuntil the end",
      "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nHost: a\r\nHost: b\r\nContent-Length: 1\r\n\r\nxy",
      "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n",
      "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"};
  return kMessages;
}

TEST(HttpPlain, WhatBothWaysTakeTheyTakeAlike) {
  for (const std::string& message : requests()) {
    expect_alike(Kind::kRequest, message);
  }
  for (const std::string& message : answers()) {
    expect_alike(Kind::kResponse, message);
  }
}

TEST(HttpPlain, AnyByteChangedOrLostIsTakenAlikeByBothWays) {
  constexpr std::array kBytes{'\0', '\t', '\n', '\r', ' ', ',', ':',    ';',    '0',   '9',
                              'A',  'H',  '"',  '/',  '(', '~', '\x7f', '\x80', '\xff'};
  for (const auto& [kind, messages] :
       {std::pair{Kind::kRequest, &requests()}, {Kind::kResponse, &answers()}}) {
    for (const std::string& message : *messages) {
      for (size_t at = 0; at < message.size(); ++at) {
        for (const char byte : kBytes) {
          std::string changed = message;
          changed[at] = byte;
          expect_alike(kind, changed);
        }
        expect_alike(kind, message.substr(0, at) + message.substr(at + 1));
        expect_alike(kind, message.substr(0, at + 1));
        expect_alike(kind, message.substr(0, at) + message[at] + message.substr(at));
      }
    }
  }
}

}  // namespace
}  // namespace spillway::net
