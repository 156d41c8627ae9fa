#include "workload/bidding.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/money.h"
#include "base/rng.h"
#include "base/time.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "workload/latency.h"

namespace spillway::workload {

namespace {

using openrtb::Key;
using openrtb::Kind;
using openrtb::NodeId;

constexpr int64_t kTmaxMostMs = 600'000;

struct Size {
  int64_t w = 0;
  int64_t h = 0;
};

/// The first size an imp offers for `media` (its banner or video object).
Size size_of(const openrtb::Document& request, NodeId media) {
  Size size{.w = request.integer(request.find(media, Key::w)).value_or(0),
            .h = request.integer(request.find(media, Key::h)).value_or(0)};
  if (size.w <= 0 || size.h <= 0) {
    const NodeId format = request.first_child(request.find(media, Key::format));
    size = {.w = request.integer(request.find(format, Key::w)).value_or(0),
            .h = request.integer(request.find(format, Key::h)).value_or(0)};
  }
  return size;
}

/// The floor in micros; -1 when it is in a currency that we do not bid in.
int64_t floor_of(const openrtb::Document& request, NodeId imp) {
  const NodeId currency = request.find(imp, Key::bidfloorcur);
  if (request.is(currency, Kind::kString) && !request.equals(currency, "USD")) {
    return -1;
  }
  const NodeId floor = request.find(imp, Key::bidfloor);
  if (!request.is(floor, Kind::kNumber)) {
    return 0;
  }
  return base::parse_micros(request.raw(floor), base::Rounding::kUp).value_or(-1);
}

base::Duration tmax_of(const openrtb::Document& request) {
  const int64_t ms = request.integer(request.find(request.root(), Key::tmax)).value_or(0);
  return std::chrono::milliseconds(std::clamp(ms, int64_t{0}, kTmaxMostMs));
}

void append_size(std::string& out, Size size) {
  if (size.w > 0 && size.h > 0) {
    out += R"(,"w":)" + std::to_string(size.w) + R"(,"h":)" + std::to_string(size.h);
  }
}

std::string vast_of(std::string_view host, std::string_view media_file) {
  std::string vast(R"(<VAST version="4.0"><Ad id="1"><InLine><AdSystem>farm</AdSystem>)");
  vast += "<AdTitle>fake</AdTitle><Impression>https://" + std::string(host);
  vast += "/imp?p=${AUCTION_PRICE}</Impression><Creatives><Creative><Linear><Duration>00:00:15";
  vast += "</Duration><MediaFiles><MediaFile delivery=\"progressive\" ";
  vast += std::string(media_file) + ">https://" + std::string(host);
  return vast + "/ad</MediaFile></MediaFiles></Linear></Creative></Creatives></InLine></Ad></VAST>";
}

/// Markup, mtype and size of the imp's first media type.
void append_creative(std::string& out, const openrtb::Document& request, NodeId imp,
                     std::string_view host) {
  std::string markup;
  int mtype = 1;
  Size size;
  if (const NodeId banner = request.find(imp, Key::banner); request.is(banner, Kind::kObject)) {
    size = size_of(request, banner);
    markup = "<a href=\"https://" + std::string(host) + "/click\"><img src=\"https://" +
             std::string(host) + "/ad.png?p=${AUCTION_PRICE}\"></a>";
  } else if (const NodeId video = request.find(imp, Key::video); request.is(video, Kind::kObject)) {
    mtype = 2;
    size = size_of(request, video);
    markup = vast_of(host, R"(type="video/mp4" width="640" height="360")");
  } else if (request.is(request.find(imp, Key::audio), Kind::kObject)) {
    mtype = 3;
    markup = vast_of(host, R"(type="audio/mpeg")");
  } else {
    mtype = 4;
    markup = R"({"ver":"1.2","assets":[{"id":1,"title":{"text":"Fake"}}],"link":{"url":"https://)" +
             std::string(host) + R"(/click"}})";
  }
  out += R"(,"mtype":)" + std::to_string(mtype);
  append_size(out, size);
  out += R"(,"adm":)";
  openrtb::append_json_string(out, markup);
}

}  // namespace

base::Cpm Price::draw(base::Rng& rng) const {
  double micros = static_cast<double>(low.micros);
  if (kind == Kind::kUniform) {
    micros = rng.uniform(micros, static_cast<double>(high.micros) + 1);
  } else {
    micros *= std::exp(sigma * rng.normal());
  }
  return {static_cast<int64_t>(std::clamp(micros, 1.0, static_cast<double>(high.micros)))};
}

std::vector<std::string_view> nobid_names() { return {"204", "empty", "object", "seatbid", "nbr"}; }

std::vector<Problem> validate(const BidStyle& style) {
  std::vector<Problem> problems;
  if (!(style.bid_ratio >= 0 && style.bid_ratio <= 1)) {
    problems.push_back({.key = "bid_rate", .what = "must be from 0 to 1"});
  }
  if (style.price.low.micros <= 0) {
    problems.push_back({.key = "price", .what = "must be over 0"});
  }
  if (style.price.high < style.price.low) {
    problems.push_back({.key = "price", .what = "its highest value must not be below its lowest"});
  }
  if (style.price.kind == Price::Kind::kLognormal &&
      !(style.price.sigma > 0 && style.price.sigma <= 10)) {
    problems.push_back({.key = "price.sigma", .what = "must be over 0 and up to 10"});
  }
  return problems;
}

BidAnswer Bidding::answer(std::string_view request, uint64_t serial, Spoil spoil, base::Rng& rng,
                          std::optional<bool> wants) {
  if (!document_.walk(request)) {
    return {.status = 400,
            .body = R"({"error":"not JSON"})",
            .bids = 0,
            .bad_request = true,
            .tmax = {}};
  }
  const NodeId id = document_.find(document_.root(), Key::id);
  if (!document_.is(id, Kind::kString)) {
    return {
        .status = 400, .body = R"({"error":"no id"})", .bids = 0, .bad_request = true, .tmax = {}};
  }
  const bool drawn = rng.uniform() < style_.bid_ratio;
  if (!wants.value_or(drawn) && spoil == Spoil::kNothing) {
    return no_bid(id);
  }
  std::string out = R"({"id":)" + std::string(document_.raw(id)) + R"(,"cur":")";
  out += spoil == Spoil::kCurrency ? "JPY" : "USD";
  out += R"(","seatbid":[{"seat":)";
  openrtb::append_json_string(out, style_.name);
  out += R"(,"bid":[)";
  uint32_t bids = 0;
  for (const NodeId imp : document_.children(document_.find(document_.root(), Key::imp))) {
    if (append_bid(out, imp, serial, spoil, rng)) {
      ++bids;
    }
    if (spoil != Spoil::kNothing) {
      break;
    }
  }
  if (bids == 0) {
    return no_bid(id);
  }
  out += "]}]}";
  return {.status = 200,
          .body = std::move(out),
          .bids = bids,
          .bad_request = false,
          .tmax = tmax_of(document_)};
}

BidAnswer Bidding::decline() const { return no_bid(document_.find(document_.root(), Key::id)); }

bool Bidding::append_bid(std::string& out, NodeId imp, uint64_t serial, Spoil spoil,
                         base::Rng& rng) const {
  const NodeId imp_id = document_.find(imp, Key::id);
  const int64_t floor = floor_of(document_, imp);
  int64_t price = style_.price.draw(rng).micros;
  if (spoil != Spoil::kNothing) {
    price = std::max(price, floor);
  } else if (!document_.is(imp_id, Kind::kString) || floor < 0 || price < floor) {
    return false;
  }
  const std::string host = style_.name + ".example";
  const std::string bid_id =
      style_.name + "-" + std::to_string(serial) + "-" + std::to_string(document_.node(imp).begin);
  out += out.back() == '[' ? "{" : ",{";
  out += R"("id":)";
  openrtb::append_json_string(out, bid_id);
  out += R"(,"impid":)";
  out += spoil == Spoil::kImpid ? R"("no-such-imp")" : document_.raw(imp_id);
  out += R"(,"price":)";
  base::append_micros(out, price);
  out += R"(,"crid":"c1","cid":"1","adomain":[)";
  openrtb::append_json_string(out, host);
  out += ']';
  append_notices(out, host);
  append_creative(out, document_, imp, host);
  out += '}';
  return true;
}

void Bidding::append_notices(std::string& out, const std::string& host) const {
  const bool is_real = !style_.notice_url.empty();
  const std::string base = is_real ? style_.notice_url : "https://" + host;
  const std::string bid = is_real ? "i=${AUCTION_IMP_ID}&" : "";
  out += R"(,"nurl":)";
  openrtb::append_json_string(out, base + "/win?" + bid + "p=${AUCTION_PRICE}");
  if (is_real) {
    out += R"(,"burl":)";
    openrtb::append_json_string(out, base + "/bill?" + bid + "p=${AUCTION_PRICE}");
    out += R"(,"lurl":)";
    openrtb::append_json_string(out, base + "/loss?" + bid + "l=${AUCTION_LOSS}");
  }
}

BidAnswer Bidding::no_bid(NodeId id) const {
  BidAnswer answer;
  answer.tmax = tmax_of(document_);
  switch (style_.nobid) {
    case NoBidSpelling::k204:
      answer.status = 204;
      break;
    case NoBidSpelling::kEmpty:
      break;
    case NoBidSpelling::kEmptyObject:
      answer.body = "{}";
      break;
    case NoBidSpelling::kEmptySeatbid:
      answer.body = R"({"id":)" + std::string(document_.raw(id)) + R"(,"seatbid":[]})";
      break;
    case NoBidSpelling::kNbr:
      answer.body = R"({"id":)" + std::string(document_.raw(id)) + R"(,"nbr":8})";
      break;
  }
  return answer;
}

}  // namespace spillway::workload
