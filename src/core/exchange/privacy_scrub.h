#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/privacy.h"
#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/path_edits.h"

namespace spillway::exchange {

/// Takes from a request what its privacy class withholds. What is not known to be harmless goes:
///
/// - `user` keeps geo, consent and, of its ext, consent strings;
/// - `device` keeps what it shares with thousands of others, and loses every id and, but for atts,
///   its ext; `ip` and `ipv6` are truncated (see truncated_ip) or removed when they are no address;
/// - `geo` of both keeps country, region, metro, city, type, utcoffset and coordinates of two
///   decimals (about 1 km); kChild loses it;
/// - `ext.prebid` loses data and bidderconfig, which may hold a user of their own.
///
/// Nothing is edited for kFull and kNoCall. Cost: one pass over these objects.
void scrub(const openrtb::Document& document, PrivacyClass copy, openrtb::EditList& edits);

/// The same for what is added to a request: removes ids whose place the caller left empty
/// (user.buyeruid of a map, user.eids moved out of ext), truncates addresses that `edits` say so
/// far (device.ip of the caller's connection). Paths are those of OpenRTB 2.6.
void withhold(PrivacyClass copy, openrtb::PathEdits& edits);

/// Paths of the values that scrub removes or changes, in document order per object, for explain.
[[nodiscard]] std::vector<std::string> scrubbed_paths(const openrtb::Document& document,
                                                      PrivacyClass copy);

/// An address without its host: IPv4 with a zero last octet; IPv6 with all but the first 48 bits
/// zero; IPv4 within IPv6 as IPv4. nullopt when `text` is no address (zones are none).
/// /48 rather than /56: many providers give one household a /56.
/// Source: RFC 4291 section 2.2.
[[nodiscard]] std::optional<std::string> truncated_ip(std::string_view text);

/// A JSON number rounded to two decimals, halves away from zero, on its digits: "-33.8688" is
/// "-33.87". nullopt when it is no number, or not below 10^9.
[[nodiscard]] std::optional<std::string> rounded_degrees(std::string_view number);

}  // namespace spillway::exchange
