#include "openrtb/consent/tcf.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace spillway::openrtb::consent {
namespace {

/// Writes what the decoder reads, from the published field table.
class Writer {
 public:
  Writer& put(uint64_t value, unsigned count) {
    for (unsigned i = count; i-- > 0;) {
      bits_.push_back(((value >> i) & 1U) != 0);
    }
    return *this;
  }

  /// Everything before the vendors: purposes 1 and 7 consented, 2 by legitimate interest.
  Writer& head(unsigned version = 2) {
    put(version, 6).put(0, 72).put(27, 12).put(0, 30).put(15, 12).put(4, 6).put(0, 14);
    return put(0x820000, 24).put(0x400000, 24).put(0, 13);
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

TEST(Tcf, ReadsPurposesAndBothVendorEncodings) {
  Writer writer;
  writer.head().put(10, 16).put(0, 1).put(0b0100010101, 10);        // Consents 2, 6, 8, 10.
  writer.put(500, 16).put(1, 1).put(2, 12);                         // Interests by ranges:
  writer.put(0, 1).put(7, 16).put(1, 1).put(100, 16).put(500, 16);  // 7, 100-500.
  const std::optional<Tcf> tcf = Tcf::decode(writer.put(0, 12).text() + ".YAAA");
  ASSERT_TRUE(tcf.has_value());
  EXPECT_EQ(tcf->cmp_id(), 27U);
  EXPECT_EQ(tcf->vendor_list_version(), 15U);
  EXPECT_EQ(tcf->policy_version(), 4U);
  for (unsigned purpose = 0; purpose < 40; ++purpose) {
    EXPECT_EQ(tcf->purpose_consent(purpose), purpose == 1 || purpose == 7) << purpose;
    EXPECT_EQ(tcf->purpose_interest(purpose), purpose == 2) << purpose;
  }
  for (unsigned vendor = 0; vendor < 600; ++vendor) {
    const bool consented = vendor == 2 || vendor == 6 || vendor == 8 || vendor == 10;
    EXPECT_EQ(tcf->vendor_consent(vendor), consented) << vendor;
    EXPECT_EQ(tcf->vendor_interest(vendor), vendor == 7 || (vendor >= 100 && vendor <= 500))
        << vendor;
  }
}

TEST(Tcf, RefusesWhatNoBasisCanBeReadFrom) {
  const std::string sound = Writer().head().put(0, 17).put(0, 17).put(0, 12).text();
  EXPECT_TRUE(Tcf::decode(sound).has_value());
  EXPECT_FALSE(Tcf::decode("").has_value());
  EXPECT_FALSE(Tcf::decode("." + sound).has_value());
  EXPECT_FALSE(Tcf::decode(sound + "=").has_value());
  EXPECT_FALSE(Tcf::decode(std::string(Tcf::kMaxTextBytes + 4, 'C')).has_value());
  EXPECT_FALSE(Tcf::decode(Writer().head(1).put(0, 46).text()).has_value());
  EXPECT_FALSE(Tcf::decode(Writer().head().put(60000, 16).put(0, 1).put(0, 40).text()).has_value());
  for (const uint64_t range : {0x00050004ULL, 0x00000003ULL, 0x00040009ULL}) {
    Writer writer;
    writer.head().put(8, 16).put(1, 1).put(1, 12).put(1, 1).put(range, 32).put(0, 29);
    EXPECT_FALSE(Tcf::decode(writer.text()).has_value()) << range;
  }
  for (size_t size = 0; size < 40; ++size) {  // 240 bits: inside the head or the first section.
    EXPECT_FALSE(Tcf::decode(std::string_view(sound).substr(0, size)).has_value()) << size;
  }
}

}  // namespace
}  // namespace spillway::openrtb::consent
