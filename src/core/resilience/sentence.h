#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace spillway::resilience {

/// Builds a reason for people: text and numbers, nothing depends on a locale.
class Sentence {
 public:
  Sentence& text(std::string_view piece) {
    text_ += piece;
    return *this;
  }

  Sentence& number(uint64_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text_.append(digits.data(), end.ptr);
    return *this;
  }

  /// The shortest text of a decimal.
  Sentence& decimal(double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text_.append(digits.data(), end.ptr);
    return *this;
  }

  /// A ratio as "31 %".
  Sentence& percent(double ratio) { return fixed(ratio * 100, 0).text(" %"); }

  /// A duration as "5.2 s", below a second as "0.050 s".
  Sentence& seconds(base::Duration value) {
    const double amount = base::to_ms(value) / 1000;
    return fixed(amount, amount < 1 ? 3 : 1).text(" s");
  }

  [[nodiscard]] std::string str() const { return text_; }

 private:
  Sentence& fixed(double value, int places) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                   std::chars_format::fixed, places);
    text_.append(digits.data(), end.ptr);
    return *this;
  }

  std::string text_;
};

}  // namespace spillway::resilience
