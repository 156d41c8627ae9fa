#include "openrtb/imp_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/money.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/validate.h"

namespace spillway::openrtb {

namespace {

class ImpReader {
 public:
  ImpReader(const Document& document, NodeId imp, const RequestPolicy& policy, Keep keep, Imp& out)
      : document_(document), imp_(imp), policy_(policy), keep_(keep), out_(out) {}

  std::optional<FieldError> read();

 private:
  std::optional<FieldError> banner(NodeId banner);
  std::optional<FieldError> format(NodeId format);
  std::optional<FieldError> timed(NodeId media);
  std::optional<FieldError> native(NodeId native);
  std::optional<FieldError> deals(NodeId deals);
  std::optional<FieldError> deal(NodeId deal, Deal& out) const;

  /// A floor and its currency, either of which may be absent.
  struct PriceNodes {
    NodeId amount = kAbsent;
    NodeId code = kAbsent;
  };

  std::optional<FieldError> price(const PriceNodes& nodes, base::Cpm& floor,
                                  base::Currency& in) const;
  void reset();
  void add_battr(NodeId media);

  [[nodiscard]] FieldError error(NodeId node, std::string what) const {
    return {.path = document_.path_of(node), .what = std::move(what)};
  }

  /// An integer member that fits 31 bits or is cut to them; 0 when it is missing.
  [[nodiscard]] int32_t number(NodeId object, Key key) const {
    const int64_t value = document_.integer(document_.find(object, key)).value_or(0);
    return static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
  }

  [[nodiscard]] bool flag(NodeId object, Key key) const { return number(object, key) == 1; }

  const Document& document_;
  NodeId imp_;
  const RequestPolicy& policy_;
  Keep keep_;
  Imp& out_;
};

void ImpReader::reset() {
  out_.node = imp_;
  out_.id.clear();
  out_.media = 0;
  out_.sizes.clear();
  out_.ratios.clear();
  out_.ratio_wmin.clear();
  out_.video_size = {};
  out_.floor = {};
  out_.floor_currency = {};
  out_.battr.clear();
  out_.deals.clear();
}

std::optional<FieldError> ImpReader::read() {
  reset();
  document_.append_string(document_.find(imp_, Key::id), out_.id);
  if (out_.id.empty()) {
    return FieldError{.path = document_.path_of(imp_) + ".id", .what = "must be there"};
  }
  out_.secure = flag(imp_, Key::secure);
  out_.instl = flag(imp_, Key::instl);

  const struct {
    Key key;
    MediaType type;
    std::optional<FieldError> (ImpReader::*read)(NodeId);
  } media[] = {{.key = Key::banner, .type = MediaType::kBanner, .read = &ImpReader::banner},
               {.key = Key::video, .type = MediaType::kVideo, .read = &ImpReader::timed},
               {.key = Key::audio, .type = MediaType::kAudio, .read = &ImpReader::timed},
               {.key = Key::native, .type = MediaType::kNative, .read = &ImpReader::native}};

  for (const auto& medium : media) {
    const NodeId node = document_.find(imp_, medium.key);
    if (node == kAbsent) {
      continue;
    }
    out_.media = static_cast<uint8_t>(out_.media | static_cast<uint8_t>(medium.type));
    add_battr(node);
    if (auto problem = (this->*medium.read)(node)) {
      return problem;
    }
  }
  if (out_.media == 0) {
    return error(imp_, "must have at least one of banner, video, audio, native");
  }
  const NodeId video = document_.find(imp_, Key::video);
  out_.video_size = {.w = number(video, Key::w), .h = number(video, Key::h)};
  if (policy_.refuse_metric) {
    const NodeId metric = document_.find(imp_, Key::metric);
    if (document_.first_child(metric) != kAbsent) {
      return error(metric, "is not accepted here");
    }
  }
  const NodeId pmp = document_.find(imp_, Key::pmp);
  out_.private_auction = flag(pmp, Key::private_auction);
  if (auto problem = deals(document_.find(pmp, Key::deals))) {
    return problem;
  }
  return price({.amount = document_.find(imp_, Key::bidfloor),
                .code = document_.find(imp_, Key::bidfloorcur)},
               out_.floor, out_.floor_currency);
}

std::optional<FieldError> ImpReader::price(const PriceNodes& nodes, base::Cpm& floor,
                                           base::Currency& in) const {
  if (nodes.amount != kAbsent) {
    // The range has been checked with the types.
    floor.micros = base::parse_micros(document_.raw(nodes.amount), base::Rounding::kUp).value_or(0);
  }
  if (nodes.code == kAbsent) {
    return std::nullopt;
  }
  const std::optional<base::Currency> currency = currency_of(document_, nodes.code);
  if (!currency) {
    return error(nodes.code, "is not a known currency");
  }
  in = *currency;
  return std::nullopt;
}

void ImpReader::add_battr(NodeId media) {
  for (const NodeId id : document_.children(document_.find(media, Key::battr))) {
    const auto value = document_.integer(id);
    if (value && *value >= 0 && *value <= INT32_MAX) {
      out_.battr.push_back(static_cast<int32_t>(*value));
    }
  }
}

std::optional<FieldError> ImpReader::banner(NodeId banner) {
  const Size size{.w = number(banner, Key::w), .h = number(banner, Key::h)};
  if (size.w > 0 && size.h > 0) {
    out_.sizes.push_back(size);
  }
  const NodeId formats = document_.find(banner, Key::format);
  for (const NodeId id : document_.children(formats)) {
    if (auto problem = format(id)) {
      return problem;
    }
  }
  if (policy_.require_banner_size && out_.sizes.empty() && out_.ratios.empty() && !out_.instl) {
    return error(banner, "must have w and h, or format");
  }
  if (policy_.refuse_banner_2_4_sizes) {
    for (const Key key : {Key::wmin, Key::wmax, Key::hmin, Key::hmax}) {
      const NodeId node = document_.find(banner, key);
      if (node != kAbsent) {
        return error(node, "is not accepted; use format");
      }
    }
  }
  return std::nullopt;
}

std::optional<FieldError> ImpReader::format(NodeId format) {
  const Size size{.w = number(format, Key::w), .h = number(format, Key::h)};
  const Size ratio{.w = number(format, Key::wratio), .h = number(format, Key::hratio)};
  const int32_t wmin = number(format, Key::wmin);
  const bool fixed = size.w != 0 || size.h != 0;
  const bool flexible = ratio.w != 0 || ratio.h != 0 || wmin != 0;
  if (fixed == flexible) {
    return error(format, "must have either w and h, or wmin, wratio and hratio");
  }
  if (fixed) {
    if (size.w == 0 || size.h == 0) {
      return error(format, "must have both w and h, not zero");
    }
    constexpr size_t kFew = 64;  // More are kept as they come: finding repeats is not worth it.
    if (out_.sizes.size() > kFew || std::ranges::find(out_.sizes, size) == out_.sizes.end()) {
      out_.sizes.push_back(size);
    }
    return std::nullopt;
  }
  if (ratio.w == 0 || ratio.h == 0 || wmin == 0) {
    return error(format, "must have all of wmin, wratio and hratio, not zero");
  }
  out_.ratios.push_back(ratio);
  out_.ratio_wmin.push_back(wmin);
  return std::nullopt;
}

std::optional<FieldError> ImpReader::timed(NodeId media) {
  const NodeId mimes = document_.find(media, Key::mimes);
  if (document_.first_child(mimes) == kAbsent) {
    return FieldError{.path = document_.path_of(media) + ".mimes",
                      .what = "must name at least one type"};
  }
  return std::nullopt;
}

std::optional<FieldError> ImpReader::native(NodeId native) {
  if (!policy_.check_native) {
    return std::nullopt;
  }
  const std::string request = document_.string(document_.find(native, Key::request));
  if (const auto problem = native_problem(request)) {
    return FieldError{.path = document_.path_of(native) + ".request",
                      .what = std::string(*problem)};
  }
  return std::nullopt;
}

std::optional<FieldError> ImpReader::deals(NodeId deals) {
  Deal checked;
  for (const NodeId deal : document_.children(deals)) {
    Deal& out = keep_ == Keep::kAll ? out_.deals.emplace_back() : checked;
    if (auto problem = this->deal(deal, out)) {
      return problem;
    }
  }
  return std::nullopt;
}

std::optional<FieldError> ImpReader::deal(NodeId deal, Deal& out) const {
  const NodeId id = document_.find(deal, Key::id);
  if (document_.raw_string(id).empty()) {
    return FieldError{.path = document_.path_of(deal) + ".id", .what = "must be there"};
  }
  const NodeId floor = document_.find(deal, Key::bidfloor);
  out.floor_given = floor != kAbsent;
  if (auto problem = price({.amount = floor, .code = document_.find(deal, Key::bidfloorcur)},
                           out.floor, out.floor_currency)) {
    return problem;
  }
  if (keep_ == Keep::kHead) {
    return std::nullopt;
  }
  document_.append_string(id, out.id);
  const int32_t at = number(deal, Key::at);
  out.at = at >= 1 && at <= 3 ? at : 0;
  for (const NodeId seat : document_.children(document_.find(deal, Key::wseat))) {
    out.wseat.push_back(document_.string(seat));
  }
  for (const NodeId node : document_.children(document_.find(deal, Key::wadomain))) {
    std::string& domain = out.wadomain.emplace_back(document_.string(node));
    std::ranges::transform(domain, domain.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (domain.starts_with("www.")) {
      domain.erase(0, 4);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<FieldError> read_imp(const Document& document, NodeId imp,
                                   const RequestPolicy& policy, Keep keep, Imp& out) {
  return ImpReader(document, imp, policy, keep, out).read();
}

}  // namespace spillway::openrtb
