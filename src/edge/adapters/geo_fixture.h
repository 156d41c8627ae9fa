#pragma once

// For tests alone: writes files of MaxMind's format, as its published specification says.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>

namespace spillway::adapters::testing {

/// Encodes values of the data section. Sizes below 285 alone.
class GeoValue {
 public:
  static std::string text(std::string_view value) {
    return head(2, value.size()) + std::string(value);
  }

  static std::string real(double value) {
    return head(3, 8) + big_endian(std::bit_cast<uint64_t>(value), 8);
  }

  static std::string u16(uint16_t value) { return head(5, 2) + big_endian(value, 2); }

  static std::string u32(uint32_t value) { return head(6, 4) + big_endian(value, 4); }

  static std::string u64(uint64_t value) { return head(9, 8) + big_endian(value, 8); }

  static std::string map(const std::vector<std::pair<std::string_view, std::string>>& members) {
    std::string out = head(7, members.size());
    for (const auto& [key, value] : members) {
      out += text(key) + value;
    }
    return out;
  }

  static std::string array(const std::vector<std::string>& values) {
    std::string out = head(11, values.size());
    for (const std::string& value : values) {
      out += value;
    }
    return out;
  }

  static std::string big_endian(uint64_t value, int bytes) {
    std::string out;
    for (int i = bytes - 1; i >= 0; --i) {
      out += static_cast<char>(value >> (8 * i));
    }
    return out;
  }

 private:
  static std::string head(unsigned type, size_t size) {
    constexpr unsigned kExtended = 8;
    const unsigned shown = size < 29 ? static_cast<unsigned>(size) : 29;
    std::string out(1, static_cast<char>((type < kExtended ? type << 5 : 0) | shown));
    if (type >= kExtended) {
      out += static_cast<char>(type - 7);
    }
    if (size >= 29) {
      out += static_cast<char>(size - 29);
    }
    return out;
  }
};

/// A file of IPv6 addresses, IPv4 below ::/96.
class GeoFileWriter {
 public:
  /// All addresses of a network ("192.0.2.0/24", "2001:db8::/32") have this record.
  void add(const std::string& network, const std::string& record) {
    const size_t slash = network.find('/');
    const std::string address = network.substr(0, slash);
    auto length = static_cast<size_t>(std::stoi(network.substr(slash + 1)));
    std::array<unsigned char, 16> bytes{};
    if (::inet_pton(AF_INET, address.c_str(), bytes.data() + 12) == 1) {
      length += 96;
    } else {
      ::inet_pton(AF_INET6, address.c_str(), bytes.data());
    }
    size_t node = 0;
    for (size_t bit = 0; bit < length; ++bit) {
      const size_t side = (bytes.at(bit / 8) >> (7 - bit % 8)) & 1U;
      if (bit + 1 == length) {
        nodes_[node].at(side) = -1 - static_cast<int64_t>(data_.size());
        break;
      }
      if (nodes_[node].at(side) == kNothing) {
        nodes_[node].at(side) = static_cast<int64_t>(nodes_.size());
        nodes_.push_back({kNothing, kNothing});
      }
      node = static_cast<size_t>(nodes_[node].at(side));
    }
    data_ += record;
  }

  [[nodiscard]] std::string bytes() const {
    constexpr uint64_t kSeparator = 16;
    const uint64_t count = nodes_.size();
    std::string out;
    for (const auto& node : nodes_) {
      for (const int64_t side : node) {
        const uint64_t record = side == kNothing ? count
                                : side < 0 ? count + kSeparator + static_cast<uint64_t>(-1 - side)
                                           : static_cast<uint64_t>(side);
        out += GeoValue::big_endian(record, 3);
      }
    }
    out += std::string(kSeparator, '\0') + data_ + "\xab\xcd\xefMaxMind.com";
    return out + GeoValue::map({{"binary_format_major_version", GeoValue::u16(2)},
                                {"binary_format_minor_version", GeoValue::u16(0)},
                                {"build_epoch", GeoValue::u64(1'800'000'000)},
                                {"database_type", GeoValue::text("Test-City")},
                                {"description", GeoValue::map({})},
                                {"ip_version", GeoValue::u16(6)},
                                {"languages", GeoValue::array({})},
                                {"node_count", GeoValue::u32(static_cast<uint32_t>(count))},
                                {"record_size", GeoValue::u16(24)}});
  }

 private:
  static constexpr int64_t kNothing = 0;  // No record leads back to the root.

  std::vector<std::array<int64_t, 2>> nodes_{{kNothing, kNothing}};
  std::string data_;
};

}  // namespace spillway::adapters::testing
