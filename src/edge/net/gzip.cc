#include "net/gzip.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <zlib.h>

#include "net/buffer_pool.h"
#include "net/http.h"

namespace spillway::net {
namespace {

constexpr int kGzipWindow = 15 + 16;
constexpr size_t kSmallestMember = 18;

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

/// Whether parameters such as ";q=0.5" say a weight of zero.
bool weighs_nothing(std::string_view parameters) {
  const size_t at = parameters.find_first_of("qQ");
  if (at == std::string_view::npos) {
    return false;
  }
  const std::string_view value = trim(parameters.substr(at + 1));
  return value.starts_with("=") &&
         trim(value.substr(1)).find_first_not_of("0.") == std::string_view::npos;
}

/// The size a gzip trailer claims, modulo 2^32.
size_t claimed_size(std::string_view gzip) {
  size_t size = 0;
  for (size_t i = 0; i < 4; ++i) {
    size |= static_cast<size_t>(static_cast<uint8_t>(gzip[gzip.size() - 4 + i])) << (8 * i);
  }
  return size;
}

Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

}  // namespace

bool looks_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

bool accepts_gzip(std::string_view accept_encoding) {
  bool any = false;
  while (!accept_encoding.empty()) {
    const size_t comma = std::min(accept_encoding.find(','), accept_encoding.size());
    const std::string_view item = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(std::min(comma + 1, accept_encoding.size()));
    const size_t semicolon = std::min(item.find(';'), item.size());
    const std::string_view name = trim(item.substr(0, semicolon));
    const bool wanted = !weighs_nothing(item.substr(semicolon));
    if (same_name(name, "gzip") || same_name(name, "x-gzip")) {
      return wanted;
    }
    any = any || (name == "*" && wanted);
  }
  return any;
}

ContentCoding content_coding(std::string_view value) {
  const std::string_view name = trim(value);
  if (name.empty() || same_name(name, "identity")) {
    return ContentCoding::kIdentity;
  }
  return same_name(name, "gzip") || same_name(name, "x-gzip") ? ContentCoding::kGzip
                                                              : ContentCoding::kOther;
}

Inflater::Inflater() { ready_ = inflateInit2(&stream_, kGzipWindow) == Z_OK; }

Inflater::~Inflater() {
  if (ready_) {
    inflateEnd(&stream_);
  }
}

Inflater::Result Inflater::inflate(std::string_view gzip, size_t cap, BufferPool& buffers) {
  if (!ready_ || gzip.size() < kSmallestMember || !looks_gzip(gzip)) {
    return {};
  }
  const size_t claimed = std::min(claimed_size(gzip), cap);
  inflateReset(&stream_);
  stream_.next_in = bytes_of(gzip);
  stream_.avail_in = static_cast<uInt>(gzip.size());
  // A trailer that lies costs a copy; deflate makes at most 1032 bytes of one.
  size_t room = std::min(claimed, gzip.size() * 1032) + 1;
  size_t used = 0;
  Result result{.state = State::kDone};
  while (true) {
    BufferRef larger = buffers.take(room + kBodyPadding);
    if (!larger) {
      return {.state = State::kNoBudget};
    }
    if (used != 0) {
      std::memcpy(larger.data(), result.buffer.data(), used);
    }
    result.buffer = std::move(larger);
    stream_.next_out = reinterpret_cast<Bytef*>(result.buffer.data() + used);
    stream_.avail_out = static_cast<uInt>(room - used);
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    used = room - stream_.avail_out;
    if (used > cap) {
      return {.state = State::kTooLarge};
    }
    if (code == Z_STREAM_END) {
      break;
    }
    if ((code != Z_OK && code != Z_BUF_ERROR) || stream_.avail_out != 0) {
      return {};  // broken, or it ends too early
    }
    room = std::min(2 * room + BufferPool::kBlock - 2 * kBodyPadding, cap + 1);
  }
  if (stream_.avail_in != 0) {
    return {};
  }
  std::memset(result.buffer.data() + used, 0, kBodyPadding);
  result.text = {result.buffer.data(), used};
  return result;
}

Deflater::~Deflater() {
  if (ready_) {
    deflateEnd(&stream_);
  }
}

bool Deflater::prepare() {
  constexpr int kMemory = 8;
  if (!ready_) {
    ready_ = deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemory,
                          Z_DEFAULT_STRATEGY) == Z_OK;
  }
  return ready_;
}

size_t Deflater::bound(size_t size) { return prepare() ? deflateBound(&stream_, size) : 0; }

size_t Deflater::compress(std::string_view plain, char* into, size_t room) {
  if (!prepare()) {
    return 0;
  }
  deflateReset(&stream_);
  stream_.next_in = bytes_of(plain);
  stream_.avail_in = static_cast<uInt>(plain.size());
  stream_.next_out = reinterpret_cast<Bytef*>(into);
  stream_.avail_out = static_cast<uInt>(room);
  return deflate(&stream_, Z_FINISH) == Z_STREAM_END ? room - stream_.avail_out : 0;
}

}  // namespace spillway::net
