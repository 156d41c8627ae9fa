#include "app/exchange/transport.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "exchange/auction.h"
#include "exchange/snapshot.h"
#include "net/http.h"

namespace spillway::app {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kVersion = "2.6";

void allow_origin(net::Response& response, std::string_view origin) {
  if (origin.empty()) {
    return;
  }
  response.headers.emplace_back("Access-Control-Allow-Origin", origin);
  response.headers.emplace_back("Access-Control-Allow-Credentials", "true");
  response.headers.emplace_back("Vary", "Origin");
}

/// Of Access-Control-Request-Headers, when they are names and commas and not many.
std::string_view echoed_headers(std::string_view asked) {
  constexpr size_t kMost = 512;
  const bool is_list = asked.size() <= kMost && std::ranges::all_of(asked, [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                (c >= '0' && c <= '9') || c == '-' || c == '_' || c == ',' ||
                                c == ' ';
                       });
  return is_list && !asked.empty() ? asked : "Content-Type, x-openrtb-version";
}

}  // namespace

Door door_of(std::string_view path) {
  if (path == "/openrtb2/auction" || path == "/hb") {
    return Door::kAuction;
  }
  if (path == "/event") {
    return Door::kEvent;
  }
  return path == "/cookie_sync" ? Door::kCookieSync : Door::kNone;
}

bool speaks_json(std::string_view content_type) {
  if (content_type == kJson) {
    return true;
  }
  constexpr std::array kOthers{"protobuf", "avro"};
  std::string lower(content_type.substr(0, 128));
  for (char& c : lower) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const std::string_view other : kOthers) {
    if (lower.contains(other)) {
      return false;
    }
  }
  return true;
}

net::Response http_answer(exchange::ReplyBytes reply, std::string_view origin) {
  net::Response response;
  response.status = reply.status;
  response.content_type = reply.json ? kJson : std::string_view{};
  response.headers.emplace_back("x-openrtb-version", kVersion);
  allow_origin(response, origin);
  response.body = std::move(reply.body);
  return response;
}

net::Response preflight_answer(const net::Request& request) {
  net::Response response;
  response.status = 204;
  response.headers.emplace_back("Allow", "POST, OPTIONS");
  response.headers.emplace_back("Access-Control-Allow-Methods", "POST, OPTIONS");
  response.headers.emplace_back("Access-Control-Allow-Headers",
                                echoed_headers(request.header("Access-Control-Request-Headers")));
  response.headers.emplace_back("Access-Control-Max-Age", "600");
  allow_origin(response, request.header("Origin"));
  return response;
}

net::Response cookie_sync_answer(std::string_view origin) {
  net::Response response;
  response.content_type = kJson;
  response.body = R"({"status":"ok","bidder_status":[]})";
  allow_origin(response, origin);
  return response;
}

net::Response event_answer(std::string_view origin) {
  net::Response response;
  response.status = 204;
  response.headers.emplace_back("Cache-Control", "no-store");
  allow_origin(response, origin);
  return response;
}

net::Response plain_answer(uint16_t status, std::string_view text, std::string_view origin) {
  net::Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = text;
  response.body += '\n';
  allow_origin(response, origin);
  return response;
}

std::string ask_headers(const exchange::DspConfig& dsp) {
  return "Content-Type: application/json\r\nAccept: application/json\r\nx-openrtb-version: " +
         dsp.openrtb + "\r\n";
}

}  // namespace spillway::app
