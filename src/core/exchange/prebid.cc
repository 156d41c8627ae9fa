#include "exchange/prebid.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

namespace {

using openrtb::kAbsent;
using openrtb::Key;
using openrtb::Kind;
using openrtb::NodeId;

constexpr size_t kNobody = SIZE_MAX;
constexpr size_t kNameBytes = 64;  // Names longer than a DSP's may be are nobody's.

}  // namespace

struct Prebid::Reading {
  const Snapshot& snapshot;
  const openrtb::Document& document;
  openrtb::RequestView& request;
  std::string& name;
  size_t warnings = 0;

  /// The DSP that a member or a string names, without case; kNobody with a warning.
  size_t dsp_of(NodeId at, bool is_member) {
    name = is_member ? document.name(at) : document.string(at);
    for (char& c : name) {
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    }
    const auto found = std::ranges::lower_bound(snapshot.dsps, name, {}, &DspConfig::name);
    if (found != snapshot.dsps.end() && found->name == name) {
      return static_cast<size_t>(found - snapshot.dsps.begin());
    }
    if (warnings++ < kWarnings) {
      const std::string_view shown =
          name.size() > kNameBytes ? std::string_view("a long name") : std::string_view(name);
      request.warnings.push_back(document.path_of(document.node(at).parent) + ": " +
                                 std::string(shown) + " is no DSP here and is ignored");
    }
    return kNobody;
  }
};

void Prebid::clear() {
  imps_ = 0;
  speaks_ = false;
  params_.clear();
  names_bidders_.clear();
  buyeruids_.clear();
  schains_.clear();
  schain_for_all_ = kAbsent;
}

std::string_view Prebid::seat(const Snapshot& snapshot, const openrtb::Document& document,
                              size_t dsp, size_t imp) const {
  const NodeId named = params(dsp, imp);
  if (named != kAbsent) {
    const openrtb::Node& node = document.node(named);
    const std::string_view spelled = document.text().substr(node.key_begin, node.key_length);
    if (!spelled.contains('\\')) {  // else it would have to be decoded, and nobody writes so
      return spelled;
    }
  }
  return snapshot.dsps[dsp].name;
}

void Prebid::read_imps(Reading& reading) {
  const openrtb::Document& document = reading.document;
  for (size_t i = 0; i < imps_; ++i) {
    const NodeId bidders =
        document.path(reading.request.imps[i].node, Key::ext, Key::prebid, Key::bidder);
    if (!document.is(bidders, Kind::kObject) || document.first_child(bidders) == kAbsent) {
      continue;
    }
    if (params_.empty()) {
      params_.assign(reading.snapshot.dsps.size() * imps_, kAbsent);
      names_bidders_.assign(imps_, false);
    }
    names_bidders_[i] = true;
    for (const NodeId member : document.children(bidders)) {
      const size_t dsp = reading.dsp_of(member, true);
      if (dsp != kNobody) {
        params_[dsp * imps_ + i] = member;
      }
    }
  }
}

void Prebid::read_buyeruids(Reading& reading) {
  const openrtb::Document& document = reading.document;
  const NodeId map =
      document.path(document.root(), Key::user, Key::ext, Key::prebid, Key::buyeruids);
  if (!document.is(map, Kind::kObject)) {
    return;
  }
  buyeruids_.assign(reading.snapshot.dsps.size(), kAbsent);
  for (const NodeId member : document.children(map)) {
    const size_t dsp = reading.dsp_of(member, true);
    if (dsp != kNobody && !document.raw_string(member).empty()) {
      buyeruids_[dsp] = member;
    }
  }
}

/// The first word about a DSP counts.
void Prebid::read_schains(Reading& reading) {
  const openrtb::Document& document = reading.document;
  const NodeId list =
      document.find(document.path(document.root(), Key::ext, Key::prebid), "schains");
  if (!document.is(list, Kind::kArray)) {
    return;
  }
  schains_.assign(reading.snapshot.dsps.size(), kAbsent);
  for (const NodeId entry : document.children(list)) {
    const NodeId schain = document.find(entry, Key::schain);
    const NodeId names = document.find(entry, "bidders");
    if (!document.is(schain, Kind::kObject) || !document.is(names, Kind::kArray)) {
      continue;
    }
    for (const NodeId name : document.children(names)) {
      if (document.equals(name, "*")) {
        schain_for_all_ = schain_for_all_ == kAbsent ? schain : schain_for_all_;
        continue;
      }
      const size_t dsp = reading.dsp_of(name, false);
      if (dsp != kNobody && schains_[dsp] == kAbsent) {
        schains_[dsp] = schain;
      }
    }
  }
}

void Prebid::read(const Snapshot& snapshot, const openrtb::Document& document,
                  openrtb::RequestView& request) {
  clear();
  imps_ = request.imps.size();
  speaks_ = document.is(document.path(document.root(), Key::ext, Key::prebid), Kind::kObject);
  Reading reading{.snapshot = snapshot, .document = document, .request = request, .name = name_};
  read_imps(reading);
  read_buyeruids(reading);
  read_schains(reading);
}

}  // namespace spillway::exchange
