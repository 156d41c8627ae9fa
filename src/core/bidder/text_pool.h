#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace spillway::bidder {

/// Memory for short-lived text: views stay valid until clear(), which keeps the memory for the next
/// round. One thread owns it. Memory: what the largest round wanted, in blocks of 4 KiB.
class TextPool {
 public:
  /// Copies `text`.
  std::string_view add(std::string_view text);

  /// Room for `bytes` that the caller fills; it belongs to the pool.
  char* room(size_t bytes);

  void clear() {
    block_ = 0;
    used_ = 0;
  }

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };

  std::vector<Block> blocks_;
  size_t block_ = 0;  ///< The one being filled,
  size_t used_ = 0;   ///< so far.
};

}  // namespace spillway::bidder
