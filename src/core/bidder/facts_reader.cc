// Reads RequestFacts from a walked document: one pass over the members of each object.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "bidder/canonical.h"
#include "bidder/facts.h"
#include "bidder/imp_facts_reader.h"
#include "bidder/model.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/validate.h"

namespace spillway::bidder {

using openrtb::kAbsent;
using openrtb::Key;
using openrtb::Kind;
using openrtb::NodeId;

void FactsReader::read(size_t imps_max) {
  Places places;
  for (const NodeId node : document_.children(document_.root())) {
    if (!document_.is(node, Kind::kNull)) {
      member(node, places);
    }
  }
  imps(places.imps, imps_max);
  facts_.at = facts_.at == 0 ? 2 : facts_.at;
  blocked_categories(places);
  if (facts_.currencies.empty()) {
    facts_.currencies.emplace_back();
  }
  device(places.device);
  user(places.user);
  inventory(places.inventory, places.is_app);
}

void FactsReader::blocked_categories(const Places& places) {
  facts_.cattax = std::max<int64_t>(cattax_of(places.cattax), 0);
  values(Dimension::kCategory, places.acat, facts_.acat);
  values(Dimension::kCategory, places.bcat, facts_.bcat);
  size_t given = 0;
  for ([[maybe_unused]] const NodeId node : document_.children(places.bcat)) {
    ++given;
  }
  const auto is_of_ours = [](std::string_view code) { return code.starts_with("IAB"); };
  const bool known =
      facts_.cattax > 1 || (facts_.cattax == 1 && std::ranges::all_of(facts_.bcat, is_of_ours));
  facts_.bcat_readable = given == 0 || (known && facts_.bcat.size() == given);
}

/// Reads what stands alone, and notes where the rest is.
void FactsReader::member(NodeId node, Places& places) {
  switch (document_.node(node).key) {
    case Key::id:
      facts_.id = id(node);
      break;
    case Key::tmax:
      tmax(node);
      break;
    case Key::at:
      facts_.at = number(node);
      break;
    case Key::test:
      facts_.test = number(node) == 1;
      break;
    case Key::cur:
      currencies(node);
      break;
    case Key::badv:
      domains(node, facts_.badv);
      break;
    case Key::wseat:
      texts(node, facts_.wseat);
      break;
    case Key::bseat:
      texts(node, facts_.bseat);
      break;
    case Key::wlang:
    case Key::wlangb:
      values(Dimension::kLanguage, node, facts_.wlang);
      break;
    default:
      places.note(document_.node(node).key, node);
  }
}

void FactsReader::Places::note(Key key, NodeId node) {
  switch (key) {
    case Key::imp:
      imps = node;
      break;
    case Key::acat:
      acat = node;
      break;
    case Key::bcat:
      bcat = node;
      break;
    case Key::cattax:
      cattax = node;
      break;
    case Key::device:
      device = node;
      break;
    case Key::user:
      user = node;
      break;
    case Key::site:
    case Key::app:
      inventory = node;
      is_app = key == Key::app;
      break;
    default:
      break;
  }
}

void FactsReader::tmax(NodeId node) {
  constexpr int64_t kMicros = 1'000'000;
  const auto micros = base::parse_micros(document_.raw(node), base::Rounding::kDown);
  facts_.tmax_ms = micros && *micros > 0 ? *micros / kMicros : 0;
}

void FactsReader::currencies(NodeId list) {
  for (const NodeId node : document_.children(list)) {
    if (const auto currency = openrtb::currency_of(document_, node)) {
      facts_.currencies.push_back(*currency);
    }
  }
}

void FactsReader::device(NodeId device) {
  NodeId ipv6 = kAbsent;
  NodeId langb = kAbsent;
  for (const NodeId node : document_.children(device)) {
    switch (document_.node(node).key) {
      case Key::devicetype:
        facts_.device_type = std::max(number(node), 0);
        break;
      case Key::os:
        facts_.os = value(Dimension::kOs, node);
        break;
      case Key::language:
        facts_.language = value(Dimension::kLanguage, node);
        break;
      case Key::langb:
        langb = node;
        break;
      case Key::ip:
        facts_.ip = text(node);
        break;
      case Key::ipv6:
        ipv6 = node;
        break;
      case Key::ua:
        facts_.user_agent = text(node);
        break;
      case Key::ifa:
        facts_.ifa = text(node);
        break;
      case Key::lmt:
      case Key::dnt:
        facts_.limited = facts_.limited || number(node) == 1;
        break;
      case Key::geo:
        geo(node);
        break;
      default:
        break;
    }
  }
  if (facts_.ip.empty()) {
    facts_.ip = text(ipv6);
  }
  if (facts_.language.empty()) {
    facts_.language = value(Dimension::kLanguage, langb);
  }
}

void FactsReader::geo(NodeId geo) {
  std::optional<double> lat;
  std::optional<double> lon;
  const auto degrees = [this](NodeId node, double most) -> std::optional<double> {
    const std::string_view raw = document_.raw(node);
    double value = 0;
    const auto [rest, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
    const bool good = document_.is(node, Kind::kNumber) && error == std::errc() &&
                      rest == raw.data() + raw.size() && std::abs(value) <= most;
    return good ? std::optional(value) : std::nullopt;
  };
  GeoFacts& out = facts_.geo;
  for (const NodeId node : document_.children(geo)) {
    switch (document_.node(node).key) {
      case Key::country:
        out.country = country_alpha2(text(node));
        break;
      case Key::region:
        out.region = value(Dimension::kRegion, node);
        break;
      case Key::metro:
        out.metro = value(Dimension::kMetro, node);
        break;
      case Key::zip:
        out.zip = value(Dimension::kZip, node);
        break;
      case Key::lat:
        lat = degrees(node, 90);
        break;
      case Key::lon:
        lon = degrees(node, 180);
        break;
      default:
        break;
    }
  }
  out.has_point = lat && lon;
  out.lat = out.has_point ? *lat : 0;
  out.lon = out.has_point ? *lon : 0;
}

void FactsReader::user(NodeId user) {
  NodeId geo_node = kAbsent;
  for (const NodeId node : document_.children(user)) {
    switch (document_.node(node).key) {
      case Key::id:
        facts_.user_id = id(node);
        break;
      case Key::buyeruid:
        facts_.buyeruid = id(node);
        break;
      case Key::geo:
        geo_node = node;
        break;
      case Key::data:
        segments(node);
        break;
      default:
        break;
    }
  }
  if (facts_.geo.empty()) {
    geo(geo_node);
  }
}

void FactsReader::segments(NodeId data) {
  for (const NodeId provider : document_.children(data)) {
    for (const NodeId segment : document_.children(document_.find(provider, Key::segment))) {
      facts_.add_segment(id(document_.find(segment, Key::id)));
    }
  }
}

void FactsReader::inventory(NodeId node, bool is_app) {
  NodeId content = kAbsent;
  NodeId page = kAbsent;
  NodeId categories[3] = {kAbsent, kAbsent, kAbsent};
  int64_t cattax = 1;
  for (const NodeId member : document_.children(node)) {
    switch (document_.node(member).key) {
      case Key::id:
        (is_app ? facts_.app_id : facts_.site_id) = id(member);
        break;
      case Key::domain:
        facts_.domain = domain(member);
        break;
      case Key::bundle:
        facts_.bundle = value(Dimension::kBundle, member);
        break;
      case Key::page:
        page = member;
        break;
      case Key::cat:
        categories[0] = member;
        break;
      case Key::sectioncat:
        categories[1] = member;
        break;
      case Key::pagecat:
        categories[2] = member;
        break;
      case Key::cattax:
        cattax = cattax_of(member);
        break;
      case Key::publisher:
        facts_.publisher_id = id(document_.find(member, Key::id));
        break;
      case Key::content:
        content = member;
        break;
      default:
        break;
    }
  }
  if (facts_.domain.empty() && !is_app && domain_of_url(text(page), facts_.scratch)) {
    facts_.domain = facts_.pool.add(facts_.scratch);
  }
  if (cattax == 1) {
    for (const NodeId list : categories) {
      values(Dimension::kCategory, list, facts_.categories);
    }
  }
  if (cattax_of(document_.find(content, Key::cattax)) == 1) {
    values(Dimension::kCategory, document_.find(content, Key::cat), facts_.categories);
  }
}

void RequestFacts::read(const openrtb::Document& document, size_t imps_max) {
  // What is kept for its memory is taken out of the way of a fresh start.
  RequestFacts fresh;
  for (auto member : {&RequestFacts::acat, &RequestFacts::bcat, &RequestFacts::badv,
                      &RequestFacts::wseat, &RequestFacts::bseat, &RequestFacts::wlang,
                      &RequestFacts::categories, &RequestFacts::segment_texts}) {
    (this->*member).clear();
    (fresh.*member).swap(this->*member);
  }
  currencies.clear();
  fresh.currencies.swap(currencies);
  segment_numbers.clear();
  fresh.segment_numbers.swap(segment_numbers);
  fresh.imp_memory.swap(imp_memory);
  pool.clear();
  std::swap(fresh.pool, pool);
  fresh.scratch.swap(scratch);
  *this = std::move(fresh);
  FactsReader(document, *this).read(imps_max);
}

}  // namespace spillway::bidder
