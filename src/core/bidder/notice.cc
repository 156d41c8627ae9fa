#include "bidder/notice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/hmac_sha256.h"
#include "base/money.h"
#include "base/result.h"
#include "bidder/caps/user.h"
#include "bidder/scoring/ab_split.h"
#include "openrtb/signed_query.h"

namespace spillway::bidder {
namespace {

constexpr std::string_view kTag = "&h=";
constexpr std::string_view kPrice = "p=";
constexpr std::string_view kLoss = "l=";

template <typename Number>
void append_number(std::string& out, std::string_view name, Number value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out += name;
  out.append(digits.data(), end);
}

template <typename Number>
bool take_number(std::string_view& query, std::string_view name, Number& out, int base = 10) {
  const auto text = openrtb::take_field(query, name);
  return text && openrtb::read_number(*text, out, base);
}

bool take_text(std::string_view& query, std::string_view name, std::string& out) {
  const auto text = openrtb::take_field(query, name);
  return text && openrtb::read_signable(*text, out) && out.size() <= kNoticeTextBytes;
}

bool take_flag(std::string_view& query, bool& out) {
  int value = 0;
  const bool taken = take_number(query, "d=", value) && (value == 0 || value == 1);
  out = value == 1;
  return taken;
}

// Notices of an earlier release have none.
bool take_arm(std::string_view& query, Arm& out) {
  int value = 0;
  if (!query.starts_with("g=")) {
    return true;
  }
  const bool taken = take_number(query, "g=", value) && (value == 0 || value == 1);
  out = value == 1 ? Arm::kTest : Arm::kControl;
  return taken;
}

bool take_currency(std::string_view& query, base::Currency& out) {
  const auto text = openrtb::take_field(query, "y=");
  if (!text || text->size() != out.code.size()) {
    return false;
  }
  std::ranges::copy(*text, out.code.begin());
  return true;
}

// Empty: no id was used.
bool take_user(std::string_view& query, std::optional<caps::UserHash>& out) {
  const auto text = openrtb::take_field(query, "u=");
  out = text ? caps::parse_user(*text) : std::nullopt;
  return text && (text->empty() || out);
}

bool read_claims(std::string_view query, Notice& out) {
  auto& claims = out.claims;
  return take_text(query, "e=", out.exchange) && take_text(query, "r=", out.request) &&
         take_text(query, "i=", out.imp) && take_number(query, "b=", claims.bid, 16) &&
         take_flag(query, claims.test) && take_arm(query, claims.arm) &&
         take_number(query, "c=", claims.campaign) && take_number(query, "a=", claims.creative) &&
         take_user(query, claims.user) && take_number(query, "t=", claims.hold) &&
         take_number(query, "m=", claims.ceiling.micros) && take_currency(query, claims.currency) &&
         take_number(query, "x=", claims.expires_s);
}

// What the exchange filled in. An exchange may put parts in any order, or others of its own.
void read_answered(std::string_view rest, Notice& out) {
  while (!rest.empty()) {
    const size_t end = rest.find('&');
    std::string_view part = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (part.starts_with(kPrice)) {
      part.remove_prefix(kPrice.size());
      out.price_given = !part.empty();
      const auto micros = base::parse_micros(part, base::Rounding::kUp);
      if (micros && *micros >= 0) {
        out.price = base::Cpm{*micros};
      }
    } else if (part.starts_with(kLoss)) {
      part.remove_prefix(kLoss.size());
      int reason = 0;
      if (openrtb::read_number(part, reason) && reason >= 0) {
        out.loss = reason;
      }
    }
  }
}

std::optional<NoticeKind> kind_of(std::string_view text) {
  for (const auto kind : {NoticeKind::kWin, NoticeKind::kBilling, NoticeKind::kLoss}) {
    if (text == to_string(kind)) {
      return kind;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(NoticeKind kind) {
  constexpr std::array<std::string_view, kNoticeKinds> kNames{"win", "billing", "loss"};
  return kNames.at(static_cast<size_t>(kind));
}

std::string_view to_string(NoticeErrc error) {
  constexpr std::array<std::string_view, kNoticeErrcs> kNames{"malformed", "unknown_exchange",
                                                              "bad_signature", "expired"};
  return kNames.at(static_cast<size_t>(error));
}

NoticeSigner::NoticeSigner(std::string base, const std::vector<Exchange>& exchanges)
    : base_(std::move(base)) {
  base_ += "/notice/";
  for (const auto& exchange : exchanges) {
    auto& party = parties_.emplace_back();
    party.name = exchange.name;
    for (const auto& key : exchange.keys) {
      party.signers.push_back({.id = key.id, .hmac = base::HmacSha256(key.secret)});
    }
  }
}

const NoticeSigner::Party* NoticeSigner::find(std::string_view name) const {
  const auto found = std::ranges::find(parties_, name, &Party::name);
  return found == parties_.end() ? nullptr : &*found;
}

void NoticeSigner::append_claims(std::string& out, size_t exchange, std::string_view request,
                                 std::string_view imp, const Claims& claims) const {
  const auto& party = parties_[exchange];
  out += "?e=";
  openrtb::append_signable(out, party.name, kNoticeTextBytes);
  out += "&r=";
  openrtb::append_signable(out, request, kNoticeTextBytes);
  out += "&i=";
  openrtb::append_signable(out, imp, kNoticeTextBytes);
  out += "&b=";
  openrtb::append_hex(out, claims.bid);
  out += claims.test ? "&d=1" : "&d=0";
  out += claims.arm == Arm::kTest ? "&g=1" : "&g=0";
  append_number(out, "&c=", claims.campaign);
  append_number(out, "&a=", claims.creative);
  out += "&u=";
  if (claims.user) {
    const auto user = claims.user->text();
    out.append(user.data(), user.size());
  }
  append_number(out, "&t=", claims.hold);
  append_number(out, "&m=", claims.ceiling.micros);
  out += "&y=";
  out += claims.currency.view();
  append_number(out, "&x=", claims.expires_s);
  out += "&k=";
  out += party.signers.front().id;
}

void NoticeSigner::append_url(std::string& out, size_t exchange, NoticeKind kind,
                              std::string_view claims) const {
  out += base_;
  const size_t begin = out.size();
  out += to_string(kind);
  out += claims;
  const size_t end = out.size();
  out += kTag;
  openrtb::append_signature(out, parties_[exchange].signers.front().hmac,
                            std::string_view(out).substr(begin, end - begin));
  out += "&p=${AUCTION_PRICE}";
  if (kind == NoticeKind::kLoss) {
    out += "&l=${AUCTION_LOSS}";
  }
}

base::Result<Notice, NoticeErrc> NoticeSigner::read(std::string_view kind, std::string_view query,
                                                    int64_t now_s) const {
  const size_t end = query.find(kTag);
  const auto known = kind_of(kind);
  std::string_view fields = query.substr(0, end);
  std::string name;
  std::string_view named = fields;
  if (end == std::string_view::npos || !known || query.size() > 4096 ||
      !take_text(named, "e=", name)) {
    return std::unexpected(NoticeErrc::kMalformed);
  }
  const Party* party = find(name);
  if (party == nullptr) {
    return std::unexpected(NoticeErrc::kUnknownExchange);
  }
  std::string_view rest = query.substr(end + kTag.size());
  const std::string_view tag = rest.substr(0, rest.find('&'));
  rest.remove_prefix(tag.size());
  std::string text(kind);
  text += '?';
  text += fields;
  bool is_ours = false;
  for (const auto& signer : party->signers) {
    const std::string suffix = "&k=" + signer.id;
    is_ours =
        is_ours || (fields.ends_with(suffix) && openrtb::is_signature(signer.hmac, text, tag));
  }
  if (!is_ours) {
    return std::unexpected(NoticeErrc::kBadSignature);
  }
  Notice notice;
  notice.kind = *known;
  if (!read_claims(fields, notice)) {
    return std::unexpected(NoticeErrc::kMalformed);
  }
  if (notice.claims.expires_s < now_s) {
    return std::unexpected(NoticeErrc::kExpired);
  }
  read_answered(rest.empty() ? rest : rest.substr(1), notice);
  return notice;
}

}  // namespace spillway::bidder
