#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::openrtb::consent {

/// For tests and generated requests: writes what the decoders of this folder read, from the
/// published field tables.
class BitWriter {
 public:
  BitWriter& put(uint64_t value, unsigned count) {
    for (unsigned i = count; i-- > 0;) {
      bits_.push_back(i < 64 && ((value >> i) & 1U) != 0);
    }
    return *this;
  }

  /// A Fibonacci-coded number, 1 to 8.
  BitWriter& put_fibonacci(unsigned value) {
    static constexpr std::string_view kCodes[] = {"",      "11",    "011",   "0011",  "1011",
                                                  "00011", "10011", "01011", "000011"};
    for (const char c : kCodes[value]) {
      bits_.push_back(c == '1');
    }
    return *this;
  }

  /// Everything of a TCF string before its vendors.
  BitWriter& put_tcf_head(unsigned version = 2, unsigned consents = 0x820000,
                          unsigned interests = 0x400000) {
    put(version, 6).put(0, 72).put(27, 12).put(0, 30).put(15, 12).put(4, 6).put(0, 14);
    return put(consents, 24).put(interests, 24).put(0, 13);
  }

  [[nodiscard]] std::string text() const {
    static constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string out;
    for (size_t at = 0; at < bits_.size(); at += 6) {
      size_t value = 0;
      for (size_t i = at; i < at + 6; ++i) {
        value = value * 2 + (i < bits_.size() && bits_[i] ? 1 : 0);
      }
      out += kAlphabet[value];
    }
    return out;
  }

 private:
  std::vector<bool> bits_;
};

/// Of a purpose, as put_tcf_head takes them.
constexpr unsigned purpose_bits(std::initializer_list<unsigned> purposes) {
  unsigned bits = 0;
  for (const unsigned purpose : purposes) {
    bits |= 1U << (24 - purpose);
  }
  return bits;
}

/// A TCF string with purposes consented and by interest; vendor 7 is consented, 9 by interest.
inline std::string tcf_text(std::initializer_list<unsigned> consents,
                            std::initializer_list<unsigned> interests = {}) {
  BitWriter writer;
  writer.put_tcf_head(2, purpose_bits(consents), purpose_bits(interests));
  writer.put(7, 16).put(0, 1).put(1, 7).put(9, 16).put(0, 1).put(1, 9);
  return writer.put(0, 12).text();
}

}  // namespace spillway::openrtb::consent
