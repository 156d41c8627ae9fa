#include "net/response_head.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "net/http.h"

namespace spillway::net {
namespace {

constexpr auto kReasons =
    std::to_array<std::pair<uint16_t, std::string_view>>({{100, "Continue"},
                                                          {200, "OK"},
                                                          {201, "Created"},
                                                          {202, "Accepted"},
                                                          {204, "No Content"},
                                                          {206, "Partial Content"},
                                                          {301, "Moved Permanently"},
                                                          {302, "Found"},
                                                          {303, "See Other"},
                                                          {304, "Not Modified"},
                                                          {307, "Temporary Redirect"},
                                                          {308, "Permanent Redirect"},
                                                          {400, "Bad Request"},
                                                          {401, "Unauthorized"},
                                                          {403, "Forbidden"},
                                                          {404, "Not Found"},
                                                          {405, "Method Not Allowed"},
                                                          {406, "Not Acceptable"},
                                                          {408, "Request Timeout"},
                                                          {409, "Conflict"},
                                                          {410, "Gone"},
                                                          {411, "Length Required"},
                                                          {413, "Content Too Large"},
                                                          {415, "Unsupported Media Type"},
                                                          {417, "Expectation Failed"},
                                                          {422, "Unprocessable Content"},
                                                          {426, "Upgrade Required"},
                                                          {429, "Too Many Requests"},
                                                          {431, "Request Header Fields Too Large"},
                                                          {500, "Internal Server Error"},
                                                          {501, "Not Implemented"},
                                                          {502, "Bad Gateway"},
                                                          {503, "Service Unavailable"},
                                                          {504, "Gateway Timeout"}});

void append_number(std::string& out, size_t number) {
  std::array<char, 20> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  out.append(text.data(), static_cast<size_t>(end - text.data()));
}

}  // namespace

bool breaks_line(std::string_view value) {
  return std::any_of(value.begin(), value.end(),
                     [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

std::string_view reason_phrase(uint16_t status) {
  if (status == 200) {
    return "OK";
  }
  const auto* const found = std::find_if(kReasons.begin(), kReasons.end(),
                                         [&](const auto& row) { return row.first == status; });
  return found == kReasons.end() ? "Unknown" : found->second;
}

void write_head(const Response& response, Persistence persistence, std::string_view date,
                std::string& out) {
  out.assign("HTTP/1.1 ");
  append_number(out, response.status);
  out.append(" ").append(reason_phrase(response.status)).append("\r\n");
  if (!date.empty()) {
    out.append("Date: ").append(date).append("\r\n");
  }
  if (!response.content_type.empty()) {
    out.append("Content-Type: ").append(response.content_type).append("\r\n");
  }
  if (!bodyless(response.status)) {
    out.append("Content-Length: ");
    append_number(out, response.body.size());
    out.append("\r\n");
  }
  for (const auto& [name, value] : response.headers) {
    if (!breaks_line(value)) {
      out.append(name).append(": ").append(value).append("\r\n");
    }
  }
  if (persistence == Persistence::kClose) {
    out.append("Connection: close\r\n");
  } else if (persistence == Persistence::kKeepAlive) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

std::string_view DateLine::at(int64_t second) {
  if (second != second_) {
    second_ = second;
    const std::time_t wall = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&wall, &parts);
    size_ = std::strftime(text_, sizeof text_, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  }
  return {text_, size_};
}

}  // namespace spillway::net
