#include "bidder/row_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bidder/canonical.h"
#include "bidder/catalog.h"
#include "bidder/model.h"
#include "bidder/time_zone.h"
#include "openrtb/validate.h"

namespace spillway::bidder {

namespace {

constexpr double kHalfWayRoundKm = 20'040;
constexpr size_t kValueBytes = 100;

std::string field_of(Dimension dimension, std::string_view list) {
  std::string field = "targeting.";
  return field.append(to_string(dimension)).append(".").append(list);
}

std::string_view rule_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kCountry:
      return "is no country of ISO 3166-1 (alpha-2 or alpha-3)";
    case Dimension::kDeviceType:
    case Dimension::kPosition:
      return "must be a number from 1 on";
    case Dimension::kMedia:
      return "must be banner, video, audio or native";
    case Dimension::kSize:
      return "must be a size such as 300x250";
    case Dimension::kDomain:
      return "must be a domain such as shop.example";
    case Dimension::kCategory:
      return "must be an IAB category such as IAB7 or IAB7-39";
    case Dimension::kLanguage:
      return "must be a language such as en";
    default:
      return "must not be empty";
  }
}

/// A host in its one spelling, and at most a port behind it: canonical_domain() alone would take
/// the scheme of an address for the domain.
bool is_domain(std::string_view text, std::string& out) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto of_a_name = [&](char c) {
    return (c >= 'a' && c <= 'z') || digit(c) || c == '-' || c == '_' || c == '.' ||
           static_cast<unsigned char>(c) >= 0x80;  // not in punycode
  };
  const size_t colon = std::min(text.find(':'), text.size());
  const auto port = text.substr(std::min(colon + 1, text.size()));
  return canonical_domain(text, out) && std::ranges::all_of(out, of_a_name) &&
         (colon == text.size() || (!port.empty() && std::ranges::all_of(port, digit)));
}

/// What a browser or an app opens without running or reading what it holds: http and https with a
/// host, and the schemes of apps. Browsers leave control bytes out before they look at the scheme.
bool is_click_url(std::string_view url, std::string& scratch) {
  constexpr std::array<std::string_view, 4> kRefused{"javascript", "vbscript", "data", "file"};
  std::string scheme(url.substr(0, url.find(':')));
  std::ranges::transform(scheme, scheme.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto of_a_scheme = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (scheme.size() == url.size() || scheme.empty() || !letter(scheme.front()) ||
      !std::ranges::all_of(scheme, of_a_scheme) || std::ranges::any_of(url, control)) {
    return false;
  }
  if (scheme == "http" || scheme == "https") {
    return url.substr(scheme.size()).starts_with("://") && domain_of_url(url, scratch);
  }
  return std::ranges::find(kRefused, scheme) == kRefused.end();
}

class Checker {
 public:
  Checker(const CatalogRows& rows, std::span<const TimeZone> zones) : rows_(rows), zones_(zones) {}

  CheckedRows check() {
    // In order of kind, so that a row finds the ids of its parents.
    each(RowKind::kAdvertiser, rows_.advertisers, [this](const Advertiser& row) { check(row); });
    each(RowKind::kCampaign, rows_.campaigns, [this](const Campaign& row) { check(row); });
    each(RowKind::kLineItem, rows_.line_items, [this](const LineItem& row) { check(row); });
    each(RowKind::kCreative, rows_.creatives, [this](const Creative& row) { check(row); });
    return std::move(out_);
  }

 private:
  using Ids = std::unordered_map<int64_t, uint32_t>;  // How many rows have it.

  template <typename Row, typename Check>
  void each(RowKind kind, const std::vector<Row>& rows, Check check) {
    Ids& ids = ids_[static_cast<size_t>(kind)];
    for (const Row& row : rows) {
      ++ids[row.id];
    }
    std::vector<bool>& broken = out_.broken[static_cast<size_t>(kind)];
    broken.resize(rows.size());
    kind_ = kind;
    for (size_t i = 0; i < rows.size(); ++i) {
      id_ = rows[i].id;
      const size_t before = out_.problems.size();
      if (id_ <= 0) {
        problem("id", "must be positive", std::to_string(id_));
      } else if (ids[id_] > 1) {
        problem("id", "is the id of another row too", std::to_string(id_));
      }
      check(rows[i]);
      broken[i] = out_.problems.size() > before;
    }
  }

  void problem(std::string_view field, std::string_view message, std::string_view value) {
    out_.problems.push_back({.kind = kind_,
                             .id = id_,
                             .field = std::string(field),
                             .message = std::string(message),
                             .value = std::string(value.substr(0, kValueBytes))});
  }

  void parent(RowKind kind, std::string_view field, int64_t id) {
    if (!ids_[static_cast<size_t>(kind)].contains(id)) {
      problem(field, "names a row that is not there", std::to_string(id));
    }
  }

  void flight(const std::optional<int64_t>& start_s, const std::optional<int64_t>& end_s) {
    if (start_s && end_s && *end_s <= *start_s) {
      problem("end_s", "must be after the start", std::to_string(*end_s));
    }
  }

  void not_negative(std::string_view field, int64_t value) {
    if (value < 0) {
      problem(field, "must not be negative", std::to_string(value));
    }
  }

  void positive(std::string_view field, int64_t value) {
    if (value <= 0) {
      problem(field, "must be positive", std::to_string(value));
    }
  }

  void check(const Advertiser& row);
  void check(const Campaign& row);
  void check(const LineItem& row);
  void check(const Creative& row);
  void caps(const std::vector<Cap>& caps);
  void values(Dimension dimension, std::string_view list, const std::vector<std::string>& values);
  void radius(const Radius& radius);
  void codes(std::string_view field, const std::vector<uint16_t>& codes);

  const CatalogRows& rows_;
  std::span<const TimeZone> zones_;
  Ids ids_[kRowKinds];
  RowKind kind_ = RowKind::kAdvertiser;
  int64_t id_ = 0;
  std::string scratch_;
  CheckedRows out_;
};

void Checker::check(const Advertiser& row) {
  if (!is_domain(row.domain, scratch_)) {
    problem("domain", "must be a domain such as shop.example", row.domain);
  }
  for (const std::string& category : row.categories) {
    const int64_t taxonomy =
        canonical(Dimension::kCategory, category, scratch_) ? taxonomy_of(scratch_) : 0;
    if (taxonomy == 0 || (taxonomy == 1 && !is_iab_category(scratch_))) {
      problem("categories",
              "must be an IAB category such as IAB7-39, or one of another taxonomy such as 7:483",
              category);
    }
  }
  if (row.time_zone != "UTC" &&
      std::ranges::find(zones_, row.time_zone, &TimeZone::name) == zones_.end()) {
    problem("time_zone", "is no time zone that is known here", row.time_zone);
  }
}

void Checker::check(const Campaign& row) {
  parent(RowKind::kAdvertiser, "advertiser", row.advertiser);
  flight(row.start_s, row.end_s);
  if (!openrtb::known_currency(row.currency)) {
    problem("currency", "is no currency of ISO 4217", row.currency.view());
  }
  positive("goal_value_micros", row.goal_value_micros);
  positive("most", row.most.micros);
  not_negative("daily_micros", row.daily_micros);
  not_negative("lifetime_micros", row.lifetime_micros);
  if (!(row.margin_ratio >= 0 && row.margin_ratio < 1)) {
    problem("margin_ratio", "must be from 0 to less than 1", std::to_string(row.margin_ratio));
  }
  caps(row.caps);
}

void Checker::caps(const std::vector<Cap>& caps) {
  constexpr size_t kCapsMost = 16;
  if (caps.size() > kCapsMost) {
    problem("caps", "must be at most 16", std::to_string(caps.size()));
    return;
  }
  for (auto cap = caps.begin(); cap != caps.end(); ++cap) {
    const bool known = cap->scope <= CapScope::kAdvertiser && cap->window <= CapWindow::kLifetime &&
                       cap->kind <= CapKind::kSliding;
    if (!known) {
      problem("caps", "has an unknown scope, window or kind", "");
      continue;
    }
    const auto same = [cap](const Cap& other) {
      return other.scope == cap->scope && other.window == cap->window && other.kind == cap->kind;
    };
    if (std::any_of(caps.begin(), cap, same)) {
      problem("caps", "has two caps of one scope, window and kind", std::to_string(cap->most));
    }
  }
}

void Checker::check(const LineItem& row) {
  parent(RowKind::kCampaign, "campaign", row.campaign);
  flight(row.start_s, row.end_s);
  for (size_t i = 0; i < kDimensions; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    values(dimension, "include", row.targeting.lists[i].include);
    values(dimension, "exclude", row.targeting.lists[i].exclude);
  }
  for (const Radius& circle : row.targeting.radii) {
    radius(circle);
  }
}

void Checker::values(Dimension dimension, std::string_view list,
                     const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    const bool good = canonical(dimension, value, scratch_) &&
                      (dimension != Dimension::kCategory || is_iab_category(scratch_)) &&
                      (dimension != Dimension::kDomain || is_domain(value, scratch_));
    if (!good) {
      problem(field_of(dimension, list), rule_of(dimension), value);
    }
  }
}

void Checker::radius(const Radius& radius) {
  constexpr double kLatMost = 90;
  constexpr double kLonMost = 180;
  // Written so that what is not a number fails.
  if (!(std::abs(radius.lat) <= kLatMost)) {
    problem("targeting.radii.lat", "must be from -90 to 90", std::to_string(radius.lat));
  }
  if (!(std::abs(radius.lon) <= kLonMost)) {
    problem("targeting.radii.lon", "must be from -180 to 180", std::to_string(radius.lon));
  }
  if (!(radius.km > 0 && radius.km <= kHalfWayRoundKm)) {
    problem("targeting.radii.km", "must be more than 0 and at most 20040",
            std::to_string(radius.km));
  }
}

void Checker::codes(std::string_view field, const std::vector<uint16_t>& codes) {
  if (std::ranges::find(codes, 0) != codes.end()) {
    problem(field, "must be numbers from 1 on", "0");
  }
}

void Checker::check(const Creative& row) {
  parent(RowKind::kLineItem, "line_item", row.line_item);
  const bool timed = row.media == Media::kVideo || row.media == Media::kAudio;
  if (row.media > Media::kNative) {
    problem("media", "is none", "");
  }
  if (row.media == Media::kBanner && (row.w == 0 || row.h == 0)) {
    problem("w", "must be there, and h, for a banner",
            std::to_string(row.w) + "x" + std::to_string(row.h));
  }
  if ((row.w == 0) != (row.h == 0)) {
    problem("h", "must be there when w is, and w when h is",
            std::to_string(row.w) + "x" + std::to_string(row.h));
  }
  if (timed && row.duration_s == 0) {
    problem("duration_s", "must be there for video and audio", "0");
  }
  if (timed && !canonical(Dimension::kOs, row.mime, scratch_)) {
    problem("mime", "must be there for video and audio", row.mime);
  }
  if (row.markup.empty()) {
    problem("markup", "must not be empty", "");
  }
  codes("attributes", row.attributes);
  codes("apis", row.apis);
  codes("protocols", row.protocols);
  if (!row.language.empty() && !canonical(Dimension::kLanguage, row.language, scratch_)) {
    problem("language", rule_of(Dimension::kLanguage), row.language);
  }
  if (!row.click_url.empty() && !is_click_url(row.click_url, scratch_)) {
    problem("click_url",
            "must be an http or https address or an app's link, such as https://shop.example",
            row.click_url);
  }
}

// What is excluded though it is included, in whatever spelling.
std::vector<std::string_view> in_both(const Lists& lists, Dimension dimension) {
  std::vector<std::string_view> out;
  if (lists.exclude.empty()) {
    return out;
  }
  std::unordered_set<std::string> included;
  std::string spelling;
  for (const std::string& value : lists.include) {
    if (canonical(dimension, value, spelling)) {
      included.insert(spelling);
    }
  }
  for (const std::string& value : lists.exclude) {
    if (canonical(dimension, value, spelling) && included.contains(spelling)) {
      out.emplace_back(value);
    }
  }
  return out;
}

}  // namespace

CheckedRows check(const CatalogRows& rows, std::span<const TimeZone> zones) {
  return Checker(rows, zones).check();
}

std::vector<Problem> check_rows(const CatalogRows& rows, std::span<const TimeZone> zones) {
  return check(rows, zones).problems;
}

std::vector<Problem> contradictions(const CatalogRows& rows) {
  std::vector<Problem> out;
  for (const LineItem& row : rows.line_items) {
    for (size_t i = 0; i < kDimensions; ++i) {
      const auto dimension = static_cast<Dimension>(i);
      for (const std::string_view value : in_both(row.targeting.lists[i], dimension)) {
        out.push_back({.kind = RowKind::kLineItem,
                       .id = row.id,
                       .field = field_of(dimension, "exclude"),
                       .message = "is in include too: it is never served",
                       .value = std::string(value.substr(0, kValueBytes))});
      }
    }
  }
  return out;
}

std::string_view to_string(RowKind kind) {
  switch (kind) {
    case RowKind::kAdvertiser:
      return "advertiser";
    case RowKind::kCampaign:
      return "campaign";
    case RowKind::kLineItem:
      return "line_item";
    case RowKind::kCreative:
      return "creative";
  }
  return "";
}

}  // namespace spillway::bidder
