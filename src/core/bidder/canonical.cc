#include "bidder/canonical.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "bidder/model.h"

namespace spillway::bidder {

namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool append_lower(std::string_view text, std::string& out) {
  std::ranges::transform(text, std::back_inserter(out), lower);
  return !out.empty();
}

bool append_upper(std::string_view text, std::string& out) {
  std::ranges::transform(text, std::back_inserter(out), upper);
  return !out.empty();
}

/// A whole number from 1 to `most`, in its shortest spelling.
bool number(std::string_view text, uint32_t most, std::string& out) {
  uint32_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value == 0 || value > most) {
    return false;
  }
  out += std::to_string(value);
  return true;
}

bool size(std::string_view text, std::string& out) {
  constexpr uint32_t kMost = 0xffff;
  const size_t cross = std::min(text.find('x'), text.find('X'));
  if (cross == std::string_view::npos || !number(text.substr(0, cross), kMost, out)) {
    return false;
  }
  out += 'x';
  if (!number(text.substr(cross + 1), kMost, out)) {
    out.clear();
    return false;
  }
  return true;
}

bool region(std::string_view text, std::string& out) {
  constexpr size_t kCountryAndDash = 3;
  if (text.size() > kCountryAndDash && text[2] == '-' &&
      !country_alpha2(text.substr(0, 2)).empty()) {
    text.remove_prefix(kCountryAndDash);
  }
  return append_upper(text, out);
}

bool zip(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (!is_blank(c)) {
      out += upper(c);
    }
  }
  return !out.empty();
}

bool language(std::string_view text, std::string& out) {
  text = text.substr(0, text.find_first_of("-_"));
  constexpr size_t kShortest = 2;
  constexpr size_t kLongest = 3;
  const bool letters =
      std::ranges::all_of(text, [](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; });
  return letters && text.size() >= kShortest && text.size() <= kLongest && append_lower(text, out);
}

bool media(std::string_view text, std::string& out) {
  append_lower(text, out);
  if (out != "banner" && out != "video" && out != "audio" && out != "native") {
    out.clear();
    return false;
  }
  return true;
}

}  // namespace

bool canonical(Dimension dimension, std::string_view text, std::string& out) {
  constexpr uint32_t kNumberMost = 1'000'000;
  out.clear();
  text = trimmed(text);
  switch (dimension) {
    case Dimension::kCountry:
      out += country_alpha2(text);
      return !out.empty();
    case Dimension::kRegion:
      return region(text, out);
    case Dimension::kZip:
      return zip(text, out);
    case Dimension::kDeviceType:
    case Dimension::kPosition:
      return number(text, kNumberMost, out);
    case Dimension::kOs:
      return append_lower(text, out);
    case Dimension::kMedia:
      return media(text, out);
    case Dimension::kSize:
      return size(text, out);
    case Dimension::kDomain:
      return canonical_domain(text, out);
    case Dimension::kCategory:
      return append_upper(text, out);
    case Dimension::kLanguage:
      return language(text, out);
    case Dimension::kSegment:
    case Dimension::kMetro:
    case Dimension::kSite:
    case Dimension::kApp:
    case Dimension::kBundle:
    case Dimension::kDeal:
      out += text;
      return !out.empty();
  }
  return false;
}

bool canonical_domain(std::string_view text, std::string& out) {
  out.clear();
  text = trimmed(text);
  text = text.substr(0, text.find(':'));
  append_lower(text, out);
  if (out.ends_with('.')) {
    out.pop_back();
  }
  if (out.starts_with("www.")) {
    out.erase(0, 4);
  }
  const bool plain = std::ranges::none_of(out, [](char c) {
    return is_blank(c) || c == '/' || c == '@' || static_cast<unsigned char>(c) < 0x20;
  });
  if (!plain || out.starts_with('.')) {
    out.clear();
  }
  return !out.empty();
}

bool domain_of_url(std::string_view url, std::string& out) {
  out.clear();
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) {
    return false;
  }
  url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  const size_t at = url.rfind('@');
  return canonical_domain(at == std::string_view::npos ? url : url.substr(at + 1), out);
}

std::string_view parent_domain(std::string_view domain) {
  const size_t dot = domain.find('.');
  return dot == std::string_view::npos ? std::string_view{} : domain.substr(dot + 1);
}

std::string_view parent_category(std::string_view category) {
  const size_t dash = category.rfind('-');
  return dash == std::string_view::npos ? std::string_view{} : category.substr(0, dash);
}

bool is_iab_category(std::string_view category) {
  constexpr uint32_t kTierOneMost = 26;
  constexpr uint32_t kTierTwoMost = 1'000'000;
  if (!category.starts_with("IAB")) {
    return false;
  }
  category.remove_prefix(3);
  const std::string_view tier_one = category.substr(0, category.find('-'));
  std::string ignored;
  return number(tier_one, kTierOneMost, ignored) &&
         (tier_one.size() == category.size() ||
          number(category.substr(tier_one.size() + 1), kTierTwoMost, ignored));
}

int64_t taxonomy_of(std::string_view category) {
  constexpr uint32_t kMost = 1'000'000;
  const size_t colon = category.find(':');
  if (colon == std::string_view::npos) {
    return 1;
  }
  const std::string_view before = category.substr(0, colon);
  std::string shortest;
  if (colon + 1 == category.size() || !number(before, kMost, shortest) || shortest != before ||
      shortest == "1") {
    return 0;
  }
  int64_t value = 0;
  std::from_chars(before.data(), before.data() + before.size(), value);
  return value;
}

std::string_view to_string(Dimension dimension) {
  constexpr std::string_view kNames[kDimensions] = {
      "segment", "country",  "region",   "metro",    "zip", "device_type",
      "os",      "media",    "size",     "site",     "app", "domain",
      "bundle",  "category", "language", "position", "deal"};
  return kNames[static_cast<size_t>(dimension)];
}

}  // namespace spillway::bidder
