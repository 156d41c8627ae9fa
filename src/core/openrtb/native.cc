#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "openrtb/document.h"
#include "openrtb/imp_reader.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"

namespace spillway::openrtb {

namespace {

using Problem = std::optional<std::string_view>;

constexpr int64_t kExchangeSpecific = 500;

class NativeChecker {
 public:
  explicit NativeChecker(const Document& document) : document_(document) {}

  Problem check() {
    NodeId root = document_.root();
    if (!document_.is(root, Kind::kObject)) {
      return "must be a JSON object";
    }
    // Version 1.0 wraps the request.
    if (const NodeId wrapped = document_.find(root, Key::native); wrapped != kAbsent) {
      root = wrapped;
    }
    const NodeId assets = document_.find(root, Key::assets);
    if (!document_.is(assets, Kind::kArray) || document_.first_child(assets) == kAbsent) {
      return "must have at least one asset";
    }
    if (Problem problem = placement(root)) {
      return problem;
    }
    for (const NodeId id : document_.children(assets)) {
      if (Problem problem = asset(id)) {
        return problem;
      }
    }
    if (Problem problem = asset_ids(assets)) {
      return problem;
    }
    for (const NodeId id : document_.children(document_.find(root, Key::eventtrackers))) {
      if (Problem problem = tracker(id)) {
        return problem;
      }
    }
    return std::nullopt;
  }

 private:
  /// A member that is missing, or a whole number of the list or of the exchange's own range.
  bool listed(NodeId object, Key key, int64_t low, int64_t high) const {
    const NodeId id = document_.find(object, key);
    return id == kAbsent || in_list(id, low, high);
  }

  bool in_list(NodeId id, int64_t low, int64_t high) const {
    const std::optional<int64_t> value = document_.integer(id);
    return value && ((*value >= low && *value <= high) || *value >= kExchangeSpecific);
  }

  Problem placement(NodeId root) const {
    if (!listed(root, Key::context, 0, 3)) {
      return "has an unknown context";
    }
    if (!listed(root, Key::plcmttype, 0, 4)) {
      return "has an unknown plcmttype";
    }
    const NodeId id = document_.find(root, Key::contextsubtype);
    const int64_t context = document_.integer(document_.find(root, Key::context)).value_or(0);
    const int64_t subtype = document_.integer(id).value_or(id == kAbsent ? 0 : -1);
    // Subtypes 10 to 15 belong to context 1, 20 to 22 to 2, 30 to 32 to 3.
    constexpr int64_t kLast[] = {15, 22, 32};
    const bool known = subtype >= 10 && subtype / 10 <= 3 && subtype <= kLast[subtype / 10 - 1];
    if (subtype != 0 && subtype < kExchangeSpecific &&
        (!known || (context < kExchangeSpecific && context != subtype / 10))) {
      return "has a contextsubtype that does not fit its context";
    }
    return std::nullopt;
  }

  Problem asset(NodeId asset) const {
    NodeId kind = kAbsent;
    for (const Key key : {Key::title, Key::img, Key::video, Key::data}) {
      const NodeId found = document_.find(asset, key);
      if (found != kAbsent && kind != kAbsent) {
        return "has an asset of more than one kind";
      }
      kind = found != kAbsent ? found : kind;
    }
    if (!document_.is(kind, Kind::kObject)) {
      return "has an asset without title, img, video or data";
    }
    switch (document_.node(kind).key) {
      case Key::title:
        return at_least(kind, Key::len, 1) ? Problem{} : "has a title without a positive len";
      case Key::img:
        return image(kind);
      case Key::video:
        return video(kind);
      default:
        return document_.find(kind, Key::type) != kAbsent && listed(kind, Key::type, 1, 12)
                   ? Problem{}
                   : "has a data asset of unknown type";
    }
  }

  Problem image(NodeId image) const {
    for (const Key key : {Key::w, Key::h, Key::wmin, Key::hmin}) {
      if (document_.find(image, key) != kAbsent && !at_least(image, key, 0)) {
        return "has an image with a negative size";
      }
    }
    return std::nullopt;
  }

  bool at_least(NodeId object, Key key, int64_t low) const {
    return document_.integer(document_.find(object, key)).value_or(low - 1) >= low;
  }

  bool filled(NodeId object, Key key) const {
    const NodeId id = document_.find(object, key);
    return document_.is(id, Kind::kArray) && document_.first_child(id) != kAbsent;
  }

  Problem video(NodeId video) const {
    if (!filled(video, Key::mimes)) {
      return "has a video without mimes";
    }
    if (!at_least(video, Key::minduration, 1) || !at_least(video, Key::maxduration, 1)) {
      return "has a video without minduration and maxduration";
    }
    if (!filled(video, Key::protocols)) {
      return "has a video without protocols";
    }
    for (const NodeId id : document_.children(document_.find(video, Key::protocols))) {
      if (!in_list(id, 1, 14)) {
        return "has a video with an unknown protocol";
      }
    }
    return std::nullopt;
  }

  Problem tracker(NodeId tracker) const {
    if (document_.find(tracker, Key::event) == kAbsent || !listed(tracker, Key::event, 1, 4)) {
      return "has an event tracker of unknown event";
    }
    if (!filled(tracker, Key::methods)) {
      return "has an event tracker without methods";
    }
    for (const NodeId id : document_.children(document_.find(tracker, Key::methods))) {
      if (!in_list(id, 1, 2)) {
        return "has an event tracker of unknown method";
      }
    }
    return std::nullopt;
  }

  /// All assets have an id, each its own, or none has.
  Problem asset_ids(NodeId assets) const {
    std::vector<int64_t> ids;
    for (const NodeId asset : document_.children(assets)) {
      if (const NodeId id = document_.find(asset, Key::id); id != kAbsent) {
        ids.push_back(document_.integer(id).value_or(-1));
      }
    }
    if (!ids.empty() && ids.size() != document_.node(assets).children) {
      return "has ids for some of its assets only";
    }
    std::ranges::sort(ids);
    if (std::ranges::adjacent_find(ids) != ids.end()) {
      return "uses an asset id twice";
    }
    return std::nullopt;
  }

  const Document& document_;
};

}  // namespace

Problem native_problem(std::string_view request) {
  constexpr size_t kMaxValues = 4096;
  const Padded padded(request);
  Document document(kMaxValues);
  if (const auto walked = document.walk(padded.view()); !walked) {
    return to_string(walked.error());
  }
  return NativeChecker(document).check();
}

}  // namespace spillway::openrtb
