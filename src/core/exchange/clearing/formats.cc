#include "exchange/clearing/formats.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::exchange::clearing {

namespace {

using openrtb::Document;
using openrtb::Key;
using openrtb::Kind;
using openrtb::NodeId;

constexpr size_t kAssets = 64;  // Of an imp; further ones are not looked at.

constexpr std::array kAssetKinds = {Key::title, Key::img, Key::video, Key::data};

/// The object that speaks of assets: version 1.0 wraps it.
NodeId unwrapped(const Document& document) {
  const NodeId wrapped = document.find(document.root(), Key::native);
  return wrapped == openrtb::kAbsent ? document.root() : wrapped;
}

/// The first of the four kinds an asset has; kAbsent for none.
NodeId kind_of(const Document& document, NodeId asset) {
  for (const Key key : kAssetKinds) {
    if (const NodeId found = document.find(asset, key); found != openrtb::kAbsent) {
      return found;
    }
  }
  return openrtb::kAbsent;
}

int64_t number(const Document& document, NodeId object, Key key, int64_t unsaid) {
  return document.integer(document.find(object, key)).value_or(unsaid);
}

NativeAsset asset_of(const Document& document, NodeId node) {
  NativeAsset asset{.id = number(document, node, Key::id, -1),
                    .required = number(document, node, Key::required, 0) == 1};
  if (const NodeId kind = kind_of(document, node); kind != openrtb::kAbsent) {
    asset.kind = document.node(kind).key;
    asset.len = number(document, kind, Key::len, 0);
    asset.wmin = number(document, kind, Key::wmin, 0);
    asset.hmin = number(document, kind, Key::hmin, 0);
  }
  return asset;
}

int64_t code_points(std::string_view utf8) {
  return std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

/// Whether one asset of the markup is as it was asked for. A size it does not say is none to judge.
bool asset_fits(const Document& document, NodeId node, const NativeAsset& asked) {
  const NodeId kind = document.find(node, asked.kind);
  if (asked.kind != Key::kNone && kind == openrtb::kAbsent) {
    return false;
  }
  if (asked.kind == Key::title && asked.len > 0) {
    return code_points(document.string(document.find(kind, Key::text))) <= asked.len;
  }
  if (asked.kind == Key::img) {
    return number(document, kind, Key::w, asked.wmin) >= asked.wmin &&
           number(document, kind, Key::h, asked.hmin) >= asked.hmin;
  }
  return true;
}

}  // namespace

void AskedFormats::reset(const Document& document, NodeId root) {
  document_ = &document;
  root_ = root;
  for (Wish& wish : wishes_) {
    wish.is_read = false;
  }
  const NodeId regs = document.find(root, Key::regs);
  NodeId dsa = document.find(regs, Key::dsa);
  if (dsa == openrtb::kAbsent) {
    dsa = document.path(regs, Key::ext, Key::dsa);
  }
  const int64_t demanded = number(document, dsa, Key::dsarequired, 0);
  dsa_ = {.is_required = demanded == 2 || demanded == 3,
          .publisher_renders = number(document, dsa, Key::pubrender, -1)};
}

const std::vector<NativeAsset>& AskedFormats::native(uint32_t index, NodeId imp) {
  if (index >= wishes_.size()) {
    wishes_.resize(size_t{index} + 1);
  }
  Wish& wish = wishes_[index];
  if (wish.is_read) {
    return wish.assets;
  }
  wish.is_read = true;
  wish.assets.clear();
  text_.clear();
  document_->append_string(document_->path(imp, Key::native, Key::request), text_);
  const size_t size = text_.size();
  text_.append(Document::kPadding, '\0');
  if (request_.walk(std::string_view(text_).substr(0, size))) {
    for (const NodeId node : request_.children(request_.find(unwrapped(request_), Key::assets))) {
      if (wish.assets.size() == kAssets) {
        break;
      }
      wish.assets.push_back(asset_of(request_, node));
    }
  }
  return wish.assets;
}

bool AskedFormats::native_fits(std::string_view markup, const std::vector<NativeAsset>& asked) {
  text_.assign(markup);
  text_.append(Document::kPadding, '\0');
  if (!markup_.walk(std::string_view(text_).substr(0, markup.size()))) {
    return false;
  }
  const NodeId root = unwrapped(markup_);
  const bool elsewhere = markup_.is(markup_.find(root, Key::assetsurl), Kind::kString) ||
                         markup_.is(markup_.find(root, Key::dcourl), Kind::kString);
  const NodeId assets = markup_.find(root, Key::assets);
  if (!markup_.is(markup_.find(root, Key::link), Kind::kObject)) {
    return false;
  }
  if (!markup_.is(assets, Kind::kArray)) {
    return elsewhere;
  }
  uint64_t seen = 0;
  for (const NodeId node : markup_.children(assets)) {
    const int64_t id = number(markup_, node, Key::id, -1);
    const auto wish = std::ranges::find(asked, id, &NativeAsset::id);
    if (id < 0 || wish == asked.end()) {
      continue;  // More than was asked for harms nobody.
    }
    if (!asset_fits(markup_, node, *wish)) {
      return false;
    }
    seen |= uint64_t{1} << (wish - asked.begin());
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    if (asked[i].required && asked[i].id >= 0 && (seen >> i & 1) == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace spillway::exchange::clearing
