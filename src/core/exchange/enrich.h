#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/auction.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/path_edits.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

/// What the exchange says where the caller is silent, the same to every DSP: edits by path. Never
/// overrides the caller.
///
/// - device.ip or ipv6, device.ua: the caller's address and User-Agent, when the caller is the
///   user's own device (Account::fill_device) and the request has neither address; not an address
///   of a private network, not a User-Agent beyond printable ASCII or kLongestUserAgent. The
///   literal "caller", which some adapters write for an address, is none.
/// - source.tid: a hash of the request's id and the auction's seed, unless ext.prebid.createtids is
///   false or the account wants none.
///
/// Pure: the same inputs give the same bytes.
void fill_silence(const Account& account, const Start& start, const openrtb::Document& document,
                  uint64_t hash, std::vector<openrtb::PathEdit>& out);

inline constexpr size_t kLongestUserAgent = 1'024;

/// Whether it may stand in a header: printable ASCII of 1 to kLongestUserAgent bytes.
[[nodiscard]] bool is_user_agent(std::string_view text);

/// Takes imps that do not say for secure, when the account is: bids must then be so too.
void assume_secure(const Account& account, const openrtb::Document& document,
                   openrtb::RequestView& request);

/// Whether an address is of no use outside its network: private, link-local, loopback, or no
/// address. IPv4 and IPv6, without brackets.
[[nodiscard]] bool is_private_address(std::string_view address);

/// The form of a UUID (version 8) for a hash.
/// Source: RFC 9562 section 5.8.
[[nodiscard]] std::string uuid_of(uint64_t hash);

/// Appends the raw JSON of a supply chain: `chain` (kAbsent: a new one) and behind its nodes one of
/// the seller, for the request `request_id`. What the chain says of itself, `complete` above all,
/// stays. Source: OpenRTB 2.6 section 3.2.25, 3.2.26.
void append_chain(std::string& out, const openrtb::Document& document, openrtb::NodeId chain,
                  const Seller& seller, std::string_view request_id);

}  // namespace spillway::exchange
