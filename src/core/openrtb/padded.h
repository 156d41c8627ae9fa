#pragma once

#include <string>
#include <string_view>

#include "openrtb/document.h"

namespace spillway::openrtb {

/// A copy of some text with the bytes behind it that Document::walk wants. For tests, tools and
/// text that is no network buffer; the hot path pads its buffers and copies nothing.
class Padded {
 public:
  explicit Padded(std::string_view text) : size_(text.size()) {
    bytes_.reserve(size_ + Document::kPadding);
    bytes_.append(text);
    bytes_.append(Document::kPadding, '\0');
  }

  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::string bytes_;
  size_t size_;
};

}  // namespace spillway::openrtb
