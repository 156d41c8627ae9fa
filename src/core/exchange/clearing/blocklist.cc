#include "exchange/clearing/blocklist.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::exchange::clearing {

namespace {

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_folded(std::string_view a, std::string_view b) {
  return a == b || std::ranges::equal(a, b, [](char x, char y) { return folded(x) == folded(y); });
}

/// What ends the host in a URL: all but one or two of a hundred domains have none of it.
constexpr bool ends_host(char c) { return c == '/' || c == '?' || c == '#' || c == ':'; }

constexpr auto kEndsHost = [] {
  std::array<bool, 256> table{};
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = ends_host(static_cast<char>(i));
  }
  return table;
}();

std::string_view host_of(std::string_view text) {
  const auto find_end = [](std::string_view in) {
    // A loop of its own: find_first_of() calls memchr() a byte.
    return std::ranges::find_if(in,
                                [](char c) { return kEndsHost[static_cast<unsigned char>(c)]; });
  };
  const auto* end = find_end(text);
  if (end == text.end()) {
    return text;
  }
  if (const size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    text.remove_prefix(scheme + 3);
    end = find_end(text);
  }
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

/// "https://WWW.adv.example:443/x." and the like down to "adv.example", case as it was.
std::string_view bare_domain(std::string_view text) {
  text = host_of(text);
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

bool category_listed(std::string_view category, const std::vector<std::string>& listed,
                     int64_t taxonomy) {
  const bool ancestors = taxonomy == kContentTaxonomy1;
  return std::ranges::any_of(listed, [&](const std::string& parent) {
    const size_t size = parent.size();
    if (size == 0 || category.size() < size) {
      return false;
    }
    const bool ends = category.size() == size || (ancestors && category[size] == '-');
    // Categories differ at their end: most comparisons are over with the last byte.
    return ends && folded(category[size - 1]) == folded(parent.back()) &&
           equal_folded(category.substr(0, size), parent);
  });
}

}  // namespace spillway::exchange::clearing
