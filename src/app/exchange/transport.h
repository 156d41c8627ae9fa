#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "exchange/auction.h"
#include "exchange/snapshot.h"
#include "net/http.h"

namespace spillway::app {

/// What a path of the exchange's listener is for.
enum class Door : uint8_t {
  kAuction,     ///< /openrtb2/auction, and /hb, where Prebid.js's adkernel adapter asks.
  kEvent,       ///< /event, any method.
  kCookieSync,  ///< /cookie_sync, which Prebid.js's server adapter asks once a page.
  kNone,
};

[[nodiscard]] Door door_of(std::string_view path);

/// Whether a content type is one we read as JSON: application/json, text/plain, none at all, and
/// what nobody can tell apart from them. Protobuf and Avro are not (415).
[[nodiscard]] bool speaks_json(std::string_view content_type);

/// The HTTP answer of a reply. `origin`: the caller's Origin header; when there is one, the answer
/// may be read by that page.
[[nodiscard]] net::Response http_answer(exchange::ReplyBytes reply, std::string_view origin);

/// The answer to a browser's preflight: any Origin, POST, the headers it asks for.
[[nodiscard]] net::Response preflight_answer(const net::Request& request);

/// Nobody has to be synced: there are no cookies of ours.
[[nodiscard]] net::Response cookie_sync_answer(std::string_view origin);

/// The answer to an event.
[[nodiscard]] net::Response event_answer(std::string_view origin);

/// A short answer of text for requests that are no auction.
[[nodiscard]] net::Response plain_answer(uint16_t status, std::string_view text,
                                         std::string_view origin);

/// Request headers of every call to an endpoint, each ended by CRLF.
[[nodiscard]] std::string ask_headers(const exchange::DspConfig& dsp);

}  // namespace spillway::app
