#include "exchange/privacy_scrub.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exchange/privacy.h"
#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/keys.h"
#include "openrtb/path_edits.h"

namespace spillway::exchange {

namespace {

using openrtb::Document;
using openrtb::Key;
using openrtb::NodeId;

/// Members that stay: by key, and those outside the key list by name.
struct Kept {
  constexpr Kept(std::initializer_list<Key> known, std::span<const std::string_view> others = {})
      : names(others) {
    for (const Key key : known) {
      keys[static_cast<size_t>(key)] = true;
    }
  }

  [[nodiscard]] bool holds(const Document& document, NodeId member) const {
    const Key key = document.node(member).key;
    return keys[static_cast<size_t>(key)] ||
           (key == Key::kOther && !names.empty() &&
            std::ranges::find(names, std::string_view(document.name(member))) != names.end());
  }

  std::array<bool, static_cast<size_t>(Key::kCount)> keys{};
  std::span<const std::string_view> names;
};

constexpr std::array<std::string_view, 2> kConsentNames{"consented_providers_settings",
                                                        "ConsentedProvidersSettings"};
constexpr std::array<std::string_view, 1> kTracking{"atts"};
constexpr Kept kUser({Key::geo, Key::consent, Key::ext});
constexpr Kept kUserExt({Key::consent}, kConsentNames);
constexpr Kept kDevice({Key::ua,         Key::sua,           Key::dnt,   Key::lmt,
                        Key::ip,         Key::ipv6,          Key::geo,   Key::ext,
                        Key::devicetype, Key::make,          Key::model, Key::os,
                        Key::osv,        Key::hwv,           Key::h,     Key::w,
                        Key::ppi,        Key::pxratio,       Key::js,    Key::geofetch,
                        Key::flashver,   Key::language,      Key::langb, Key::carrier,
                        Key::mccmnc,     Key::connectiontype});
constexpr Kept kDeviceExt({}, kTracking);
constexpr Kept kGeo({Key::lat, Key::lon, Key::type, Key::country, Key::region, Key::regionfips104,
                     Key::metro, Key::city, Key::utcoffset});

/// Members of `object` that are not `kept`.
template <typename Remove>
void remove_others(const Document& document, NodeId object, const Kept& kept,
                   const Remove& remove) {
  if (!document.is(object, openrtb::Kind::kObject)) {
    return;
  }
  for (const NodeId member : document.children(object)) {
    if (!kept.holds(document, member)) {
      remove(member);
    }
  }
}

std::optional<std::string> truncated_literal(const Document& document, NodeId value) {
  std::optional<std::string> text = truncated_ip(document.string(value));
  return text ? std::optional('"' + *text + '"') : std::nullopt;
}

/// Calls `remove(node)` and `replace(node, json)` for all that a class withholds.
template <typename Remove, typename Replace>
class Scrubber {
 public:
  Scrubber(const Document& document, PrivacyClass copy, Remove remove, Replace replace)
      : document_(document),
        child_(copy == PrivacyClass::kChild),
        remove_(std::move(remove)),
        replace_(std::move(replace)) {}

  void run() {
    const NodeId root = document_.root();
    scrub_user(document_.find(root, Key::user));
    scrub_device(document_.find(root, Key::device));
    const NodeId prebid = document_.path(root, Key::ext, Key::prebid);
    for (const std::string_view name : {"data", "bidderconfig"}) {
      if (const NodeId value = document_.find(prebid, name); value != openrtb::kAbsent) {
        remove_(value);
      }
    }
  }

 private:
  void scrub_user(NodeId user) {
    remove_others(document_, user, kUser, remove_);
    remove_others(document_, document_.find(user, Key::ext), kUserExt, remove_);
    scrub_geo(document_.find(user, Key::geo));
  }

  void scrub_device(NodeId device) {
    remove_others(document_, device, kDevice, remove_);
    remove_others(document_, document_.find(device, Key::ext), kDeviceExt, remove_);
    for (const Key key : {Key::ip, Key::ipv6}) {
      const NodeId value = document_.find(device, key);
      change(value, truncated_literal(document_, value));
    }
    scrub_geo(document_.find(device, Key::geo));
  }

  void scrub_geo(NodeId geo) {
    if (geo == openrtb::kAbsent) {
      return;
    }
    if (child_) {
      remove_(geo);
      return;
    }
    remove_others(document_, geo, kGeo, remove_);
    for (const Key key : {Key::lat, Key::lon}) {
      const NodeId value = document_.find(geo, key);
      change(value, rounded_degrees(document_.raw(value)));
    }
  }

  void change(NodeId value, const std::optional<std::string>& json) {
    if (value == openrtb::kAbsent) {
      return;
    }
    if (!json) {
      remove_(value);
    } else if (*json != document_.raw(value)) {
      replace_(value, *json);
    }
  }

  const Document& document_;
  bool child_;
  Remove remove_;
  Replace replace_;
};

template <typename Remove, typename Replace>
void visit(const Document& document, PrivacyClass copy, Remove remove, Replace replace) {
  if (copy == PrivacyClass::kNoIds || copy == PrivacyClass::kChild) {
    Scrubber(document, copy, std::move(remove), std::move(replace)).run();
  }
}

}  // namespace

void scrub(const openrtb::Document& document, PrivacyClass copy, openrtb::EditList& edits) {
  visit(
      document, copy, [&edits](NodeId value) { edits.remove(value); },
      [&edits](NodeId value, std::string_view json) { edits.replace(value, json); });
}

void withhold(PrivacyClass copy, openrtb::PathEdits& edits) {
  if (copy != PrivacyClass::kNoIds && copy != PrivacyClass::kChild) {
    return;
  }
  for (const Key key : {Key::id, Key::buyeruid, Key::eids}) {
    edits.remove({Key::user, key});
  }
  for (const Key key : {Key::ip, Key::ipv6}) {
    const std::string_view json = edits.said({Key::device, key});
    if (json.size() >= 2) {
      const auto text = truncated_ip(json.substr(1, json.size() - 2));
      edits.add({.path = {Key::device, key}, .json = text ? '"' + *text + '"' : ""});
    }
  }
}

std::vector<std::string> scrubbed_paths(const openrtb::Document& document, PrivacyClass copy) {
  std::vector<std::string> out;
  const auto note = [&](NodeId value) { out.push_back(document.path_of(value)); };
  visit(document, copy, note, [&](NodeId value, std::string_view) { note(value); });
  return out;
}

}  // namespace spillway::exchange
