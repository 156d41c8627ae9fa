#include "exchange/clearing/blocklist.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::exchange::clearing {

namespace {

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_folded(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return folded(x) == folded(y); });
}

/// "https://WWW.adv.example:443/x." and the like down to "adv.example", case as it was.
std::string_view bare_domain(std::string_view text) {
  if (const size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    text.remove_prefix(scheme + 3);
  }
  // A loop of its own: find_first_of() calls memchr() a byte.
  const auto* const end = std::ranges::find_if(
      text, [](char c) { return c == '/' || c == '?' || c == '#' || c == ':'; });
  text = text.substr(0, static_cast<size_t>(end - text.begin()));
  while (!text.empty() && (text.front() == ' ' || text.front() == '.')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) {
    text.remove_suffix(1);
  }
  if (text.size() > 4 && equal_folded(text.substr(0, 4), "www.")) {
    text.remove_prefix(4);
  }
  return text;
}

bool is_or_is_under(std::string_view domain, std::string_view parent) {
  if (parent.empty() || domain.size() < parent.size()) {
    return false;
  }
  const size_t head = domain.size() - parent.size();
  return (head == 0 || domain[head - 1] == '.') && equal_folded(domain.substr(head), parent);
}

}  // namespace

bool domain_listed(std::string_view domain, const std::vector<std::string>& listed) {
  if (listed.empty()) {
    return false;
  }
  const std::string_view bare = bare_domain(domain);
  return std::ranges::any_of(
      listed, [bare](const std::string& parent) { return is_or_is_under(bare, parent); });
}

bool category_blocked(std::string_view category, const std::vector<std::string>& blocked,
                      bool ancestors) {
  return std::ranges::any_of(blocked, [&](const std::string& parent) {
    if (parent.empty() || category.size() < parent.size() ||
        !equal_folded(category.substr(0, parent.size()), parent)) {
      return false;
    }
    return category.size() == parent.size() || (ancestors && category[parent.size()] == '-');
  });
}

}  // namespace spillway::exchange::clearing
