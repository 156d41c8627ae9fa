#include "bidder/text_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace spillway::bidder {

std::string_view TextPool::add(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  char* const at = room(text.size());
  std::memcpy(at, text.data(), text.size());
  return {at, text.size()};
}

char* TextPool::room(size_t bytes) {
  constexpr size_t kBlockBytes = 4096;
  while (block_ < blocks_.size() && blocks_[block_].size - used_ < bytes) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    const size_t size = std::max(bytes, kBlockBytes);
    blocks_.push_back({.bytes = std::make_unique<char[]>(size), .size = size});
    used_ = 0;
  }
  char* const at = blocks_[block_].bytes.get() + used_;
  used_ += bytes;
  return at;
}

}  // namespace spillway::bidder
