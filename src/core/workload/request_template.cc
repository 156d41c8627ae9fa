#include "workload/request_template.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"

namespace spillway::workload {

namespace {

using openrtb::Key;
using openrtb::Kind;

constexpr int64_t kMillisFrom = 100'000'000'000;

}  // namespace

RequestTemplate::RequestTemplate(std::string text, openrtb::Document& document, Options options)
    : text_(std::move(text)) {
  const openrtb::Padded padded(text_);
  if (!document.walk(padded.view()) || !document.is(document.root(), Kind::kObject)) {
    return;
  }
  well_formed_ = true;
  add_string(document, document.find(document.root(), Key::id), Hole::kId);
  add_string(document, document.path(document.root(), Key::source, Key::tid), Hole::kTid);
  if (options.renew_user) {
    add_string(document, document.path(document.root(), Key::user, Key::id), Hole::kUser);
  }
  add_times(document);
  std::sort(places_.begin(), places_.end(),
            [](const Place& a, const Place& b) { return a.begin < b.begin; });
}

void RequestTemplate::add_string(const openrtb::Document& document, openrtb::NodeId node,
                                 Hole hole) {
  if (document.is(node, Kind::kString)) {
    const openrtb::Node& found = document.node(node);
    places_.push_back({.begin = found.begin + 1, .end = found.end - 1, .hole = hole});
  }
}

void RequestTemplate::add_times(const openrtb::Document& document) {
  for (openrtb::NodeId id = 0; id < document.size() && places_.size() < kHolesMax; ++id) {
    const openrtb::Node& node = document.node(id);
    const std::string_view name(text_.data() + node.key_begin, node.key_length);
    if (node.kind != Kind::kNumber || (name != "ts" && name != "timestamp")) {
      continue;
    }
    if (const auto value = document.integer(id)) {
      places_.push_back({.begin = node.begin,
                         .end = node.end,
                         .hole = *value >= kMillisFrom ? Hole::kMillis : Hole::kSeconds});
    }
  }
}

void RequestTemplate::append_parts(const Values& values, std::vector<std::string_view>& out) const {
  const std::string_view text = text_;
  size_t begin = 0;
  for (const Place& place : places_) {
    out.push_back(text.substr(begin, place.begin - begin));
    switch (place.hole) {
      case Hole::kId:
        out.push_back(values.id);
        break;
      case Hole::kTid:
        out.push_back(values.tid);
        break;
      case Hole::kSeconds:
        out.push_back(values.seconds);
        break;
      case Hole::kMillis:
        out.push_back(values.millis);
        break;
      case Hole::kUser:
        out.push_back(values.user);
        break;
    }
    begin = place.end;
  }
  out.push_back(text.substr(begin));
}

std::string RequestTemplate::bytes(const Values& values) const {
  std::vector<std::string_view> parts;
  append_parts(values, parts);
  std::string out;
  for (const std::string_view part : parts) {
    out += part;
  }
  return out;
}

}  // namespace spillway::workload
