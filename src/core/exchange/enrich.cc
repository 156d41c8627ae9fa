#include "exchange/enrich.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/hash.h"
#include "exchange/auction.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/path_edits.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

namespace {

using openrtb::kAbsent;
using openrtb::Key;
using openrtb::Kind;
using openrtb::NodeId;

/// Fills what is missing of the device from the caller's connection.
void fill_device(const Start& start, const openrtb::Document& document,
                 std::vector<openrtb::PathEdit>& out) {
  const NodeId device = document.find(document.root(), Key::device);
  bool has_address = false;
  for (const Key key : {Key::ip, Key::ipv6}) {
    const NodeId address = document.find(device, key);
    if (document.equals(address, "caller")) {
      out.push_back({.path = {Key::device, key}, .json = ""});
    } else {
      has_address = has_address || address != kAbsent;
    }
  }
  if (!has_address && !is_private_address(start.client_address)) {
    const bool is_v6 = start.client_address.contains(':');
    out.push_back({.path = {Key::device, is_v6 ? Key::ipv6 : Key::ip},
                   .json = openrtb::json_string(start.client_address)});
  }
  const std::string_view agent = start.user_agent;
  const NodeId own_agent = document.find(device, Key::ua);
  const bool is_literal = document.equals(own_agent, "caller");
  if (is_literal) {
    out.push_back({.path = {Key::device, Key::ua}, .json = ""});
  }
  if (is_user_agent(agent) && (own_agent == kAbsent || is_literal)) {
    out.push_back({.path = {Key::device, Key::ua}, .json = openrtb::json_string(agent)});
  }
}

/// The four bytes of an IPv4 address.
std::optional<uint32_t> parse_v4(std::string_view text) {
  uint32_t address = 0;
  for (int i = 0; i < 4; ++i) {
    uint8_t byte = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), byte);
    const auto used = static_cast<size_t>(rest - text.data());
    if (error != std::errc() || (i < 3) != (used < text.size() && text[used] == '.')) {
      return std::nullopt;
    }
    address = address << 8 | byte;
    text.remove_prefix(i < 3 ? used + 1 : used);
  }
  return text.empty() ? std::optional(address) : std::nullopt;
}

struct Network {
  uint32_t address;
  unsigned bits;
};

// RFC 1122, 1918, 3927, 6598.
constexpr Network kPrivate[] = {
    {.address = 0, .bits = 8},           {.address = 0x0a000000, .bits = 8},
    {.address = 0x64400000, .bits = 10}, {.address = 0x7f000000, .bits = 8},
    {.address = 0xa9fe0000, .bits = 16}, {.address = 0xac100000, .bits = 12},
    {.address = 0xc0a80000, .bits = 16}};

}  // namespace

bool is_user_agent(std::string_view text) {
  return !text.empty() && text.size() <= kLongestUserAgent &&
         std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

bool is_private_address(std::string_view address) {
  if (const auto v4 = parse_v4(address)) {
    return std::ranges::any_of(kPrivate, [&](const Network& network) {
      return (*v4 ^ network.address) >> (32 - network.bits) == 0;
    });
  }
  // Global unicast is 2000::/3; everything else stays within some network.
  uint16_t first = 0;
  const auto [rest, error] =
      std::from_chars(address.data(), address.data() + address.size(), first, 16);
  return error != std::errc() || rest == address.data() + address.size() || *rest != ':' ||
         first >> 13 != 1 || !std::ranges::all_of(address, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
                  c == ':' || c == '.';
         });
}

std::string uuid_of(uint64_t hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  uint64_t word = hash;
  for (int i = 0; i < 32; ++i) {
    if (i == 16) {
      word = base::combine64(hash, 1);
    }
    if (i == 8 || i == 12 || i == 16 || i == 20) {
      out += '-';
    }
    const auto digit = static_cast<size_t>(word >> 60);
    word <<= 4;
    out += i == 12 ? '8' : kDigits[i == 16 ? (digit & 3U) | 8U : digit];
  }
  return out;
}

void fill_silence(const Account& account, const Start& start, const openrtb::Document& document,
                  uint64_t hash, std::vector<openrtb::PathEdit>& out) {
  out.clear();
  if (account.fill_device == FillDevice::kAlways ||
      (account.fill_device == FillDevice::kBrowser && start.has_origin)) {
    fill_device(start, document, out);
  }
  const NodeId root = document.root();
  const NodeId creates = document.find(document.path(root, Key::ext, Key::prebid), "createtids");
  if (account.source_tid && !document.is(creates, Kind::kFalse) &&
      document.path(root, Key::source, Key::tid) == kAbsent) {
    out.push_back({.path = {Key::source, Key::tid}, .json = '"' + uuid_of(hash) + '"'});
  }
}

void assume_secure(const Account& account, const openrtb::Document& document,
                   openrtb::RequestView& request) {
  for (openrtb::Imp& imp : request.imps) {
    imp.secure = imp.secure || (account.secure && document.find(imp.node, Key::secure) == kAbsent);
  }
}

void append_chain(std::string& out, const openrtb::Document& document, NodeId chain,
                  const Seller& seller, std::string_view request_id) {
  std::string node = R"({"asi":)" + openrtb::json_string(seller.asi);
  node += R"(,"sid":)" + openrtb::json_string(seller.sid);
  node += R"(,"rid":)" + openrtb::json_string(request_id) + R"(,"hp":1})";
  if (!document.is(chain, Kind::kObject)) {
    out += R"({"complete":)";
    out += seller.begins_complete ? '1' : '0';
    out += R"(,"nodes":[)" + node + R"(],"ver":"1.0"})";
    return;
  }
  // A cut in the chain's own bytes: where the node goes in, and what it stands in for.
  const std::string_view text = document.text();
  const openrtb::Node& whole = document.node(chain);
  const NodeId nodes = document.member(chain, "nodes");
  size_t cut = whole.end - 1;
  size_t resume = cut;
  std::string inserted = (whole.children > 0 ? R"(,"nodes":[)" : R"("nodes":[)") + node + "]";
  if (document.is(nodes, Kind::kArray)) {
    cut = resume = document.node(nodes).end - 1;
    inserted = (document.node(nodes).children > 0 ? "," : "") + node;
  } else if (nodes != kAbsent) {
    cut = document.node(nodes).begin;
    resume = document.node(nodes).end;
    inserted = "[" + node + "]";
  }
  out += text.substr(whole.begin, cut - whole.begin);
  out += inserted;
  out += text.substr(resume, whole.end - resume);
}

}  // namespace spillway::exchange
