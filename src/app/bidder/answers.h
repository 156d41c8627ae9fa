#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http.h"

namespace spillway::app::bidding {

inline constexpr std::string_view kBidPath = "/openrtb2/bid";
inline constexpr std::string_view kNoticePath = "/notice/";

[[nodiscard]] inline net::Response no_content() {
  net::Response response;
  response.status = 204;
  return response;
}

[[nodiscard]] inline net::Response json_answer(uint16_t status, std::string body) {
  net::Response response;
  response.status = status;
  response.content_type = "application/json";
  response.headers.emplace_back("x-openrtb-version", "2.6");
  response.body = std::move(body);
  return response;
}

[[nodiscard]] inline net::Response text_answer(uint16_t status, std::string_view text) {
  net::Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::string(text) + "\n";
  return response;
}

}  // namespace spillway::app::bidding
