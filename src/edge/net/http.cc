#include "net/http.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace spillway::net {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  // Nearly all are spelt alike.
  return std::memcmp(a.data(), b.data(), a.size()) == 0 ||
         std::equal(a.begin(), a.end(), b.begin(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view Request::header(std::string_view name) const {
  for (const Header& header : headers) {
    if (same_name(header.name, name)) {
      return header.value;
    }
  }
  return {};
}

std::string_view Request::path() const {
  std::string_view rest = target;
  // A server must take the absolute form too (RFC 9112, 3.2.2); its host says nothing to us.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (same_name(rest.substr(0, scheme.size()), scheme)) {
      rest.remove_prefix(scheme.size());
      rest.remove_prefix(std::min(rest.find_first_of("/?"), rest.size()));
      if (!rest.starts_with('/')) {
        return "/";
      }
      break;
    }
  }
  return rest.substr(0, rest.find('?'));
}

std::string_view Request::query() const {
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
}

}  // namespace spillway::net
