#include "exchange/clearing/banner_types.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "exchange/clearing/markup.h"

namespace spillway::exchange::clearing {

namespace {

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// `lower` is in lower case; `text` in any.
bool has(std::string_view text, std::string_view lower) {
  return std::ranges::search(text, lower, {}, folded).begin() != text.end();
}

bool has_tag(std::string_view text, std::string_view name) {
  for (size_t open = text.find('<'); open != std::string_view::npos;
       open = text.find('<', open + 1)) {
    const std::string_view rest = text.substr(open + 1);
    const bool named = std::ranges::equal(rest.substr(0, name.size()), name, {}, folded);
    const std::string_view behind = named ? rest.substr(name.size()) : rest;
    if (named && (behind.empty() || behind.find_first_of(" \t\r\n\f/>") == 0)) {
      return true;
    }
  }
  return false;
}

bool has_any_tag(std::string_view text, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [text](std::string_view name) { return has_tag(text, name); });
}

}  // namespace

BannerTypes banner_types(std::string_view markup) {
  BannerTypes types;
  if (has_tag(markup, "script")) {
    types.add(BannerType::kScript);
  }
  if (has_tag(markup, "iframe")) {
    types.add(BannerType::kIframe);
  }
  if (types.has(BannerType::kScript) || types.has(BannerType::kIframe)) {
    return types;
  }
  if (has_tag(markup, "img")) {
    types.add(BannerType::kImage);
  } else if (sniff(markup) == MarkupKind::kHtml && !has(markup, "url(") &&
             !has_any_tag(markup, {"svg", "canvas", "video", "audio", "object", "embed", "picture",
                                   "image", "input", "link", "frame"})) {
    types.add(BannerType::kText);
  }
  return types;
}

}  // namespace spillway::exchange::clearing
