#include "net/http2_fields.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "net/buffer_pool.h"
#include "net/http.h"
#include "net/pending_request.h"

namespace spillway::net {
namespace {

constexpr size_t kFieldOverhead = 32;
constexpr size_t kFloodFactor = 8;
constexpr size_t kKeptBytes = 4096;

bool is_cookie(const Header& header) { return header.name == "cookie"; }

}  // namespace

void Http2Fields::begin(size_t most_bytes, size_t most_count) {
  drop();
  most_bytes_ = most_bytes;
  most_count_ = most_count;
}

void Http2Fields::drop() {
  if (text_.capacity() > kKeptBytes) {
    text_ = std::string();
    fields_ = std::vector<Field>();
  }
  text_.clear();
  fields_.clear();
  bytes_ = count_ = 0;
}

bool Http2Fields::add(std::string_view name, std::string_view value) {
  bytes_ += name.size() + value.size() + kFieldOverhead;
  ++count_;
  if (bytes_ <= most_bytes_ && count_ <= most_count_) {
    fields_.push_back(
        {.name_at = text_.size(), .name_size = name.size(), .value_size = value.size()});
    text_.append(name).append(value);
  }
  return bytes_ <= kFloodFactor * most_bytes_ && count_ <= kFloodFactor * most_count_;
}

uint16_t Http2Fields::place(PendingRequest& request, BufferPool& buffers) {
  if (bytes_ > most_bytes_ || count_ > most_count_) {
    drop();
    return 431;
  }
  // Joined cookies are at most as long as all fields, and two bytes each between them.
  request.buffer = buffers.take(2 * text_.size() + 2 * fields_.size());
  if (!request.buffer) {
    drop();
    return 503;
  }
  char* const text = request.buffer.data();
  std::memcpy(text, text_.data(), text_.size());
  const uint16_t status = lay_out(request, text, text_.size());
  drop();
  return status;
}

uint16_t Http2Fields::lay_out(PendingRequest& request, char* text, size_t used) const {
  std::string_view host;
  std::string_view authority;
  size_t cookies = 0;
  request.headers.clear();
  request.request = {};
  request.headers.push_back({.name = "host", .value = {}});
  for (const Field& field : fields_) {
    const Header header{.name = {text + field.name_at, field.name_size},
                        .value = {text + field.name_at + field.name_size, field.value_size}};
    if (header.name == ":method") {
      request.request.method = header.value;
    } else if (header.name == ":path") {
      request.request.target = header.value;
    } else if (header.name == ":authority") {
      authority = header.value;
    } else if (header.name == "host") {
      host = header.value;
    } else if (!header.name.starts_with(':')) {
      cookies += is_cookie(header) ? 1U : 0U;
      request.headers.push_back(header);
    }
  }
  if (!host.empty() && !authority.empty() && host != authority) {
    return 400;
  }
  request.headers.front().value = authority.empty() ? host : authority;
  if (cookies > 1) {
    used = join_cookies(request, text, used);
  }
  request.request.headers = request.headers;
  std::memset(text + used, 0, kBodyPadding);
  request.request.body = std::string_view(text, used).substr(used);  // empty, behind the rest
  return request.request.method == "CONNECT" ? 501 : 0;
}

/// A caller may send one cookie header in pieces; returns the bytes used.
size_t Http2Fields::join_cookies(PendingRequest& request, char* text, size_t used) {
  const size_t begin = used;
  for (const Header& header : request.headers) {
    if (is_cookie(header)) {
      if (used != begin) {
        text[used++] = ';';
        text[used++] = ' ';
      }
      std::memcpy(text + used, header.value.data(), header.value.size());
      used += header.value.size();
    }
  }
  const std::string_view name =
      std::find_if(request.headers.begin(), request.headers.end(), is_cookie)->name;
  std::erase_if(request.headers, is_cookie);
  request.headers.push_back({.name = name, .value = {text + begin, used - begin}});
  return used;
}

}  // namespace spillway::net
