#include "openrtb/consent/tcf.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "openrtb/consent/bit_writer.h"

namespace spillway::openrtb::consent {
namespace {

TEST(Tcf, ReadsPurposesAndBothVendorEncodings) {
  BitWriter writer;
  writer.put_tcf_head().put(10, 16).put(0, 1).put(0b0100010101, 10);  // Consents 2, 6, 8, 10.
  writer.put(500, 16).put(1, 1).put(2, 12);                           // Interests by ranges:
  writer.put(0, 1).put(7, 16).put(1, 1).put(100, 16).put(500, 16);    // 7, 100-500.
  const std::string text = writer.put(0, 12).text() + ".YAAA";
  const std::optional<Tcf> tcf = Tcf::decode(text);
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
  const std::string sound = BitWriter().put_tcf_head().put(0, 17).put(0, 17).put(0, 12).text();
  EXPECT_TRUE(Tcf::decode(sound).has_value());
  EXPECT_FALSE(Tcf::decode("").has_value());
  EXPECT_FALSE(Tcf::decode("." + sound).has_value());
  EXPECT_FALSE(Tcf::decode(sound + "=").has_value());
  EXPECT_FALSE(Tcf::decode(std::string(Tcf::kMaxTextBytes + 4, 'C')).has_value());
  EXPECT_FALSE(Tcf::decode(BitWriter().put_tcf_head(1).put(0, 46).text()).has_value());
  EXPECT_FALSE(Tcf::decode(BitWriter().put_tcf_head().put(60000, 16).put(0, 1).put(0, 40).text())
                   .has_value());
  for (const uint64_t range : {0x00050004ULL, 0x00000003ULL, 0x00040009ULL}) {
    BitWriter writer;
    writer.put_tcf_head().put(8, 16).put(1, 1).put(1, 12).put(1, 1).put(range, 32).put(0, 29);
    EXPECT_FALSE(Tcf::decode(writer.text()).has_value()) << range;
  }
  for (size_t size = 0; size < 40; ++size) {  // 240 bits: inside the head or the first section.
    EXPECT_FALSE(Tcf::decode(std::string_view(sound).substr(0, size)).has_value()) << size;
  }
}

TEST(Tcf, GivesABasisByConsentOrByClaimedInterest) {
  const std::string text = tcf_text({1, 2}, {1, 2, 3, 7});
  const std::optional<Tcf> tcf = Tcf::decode(text);
  ASSERT_TRUE(tcf.has_value());
  EXPECT_TRUE(tcf->has_basis(1, 7, false));
  EXPECT_TRUE(tcf->has_basis(2, 7, false));
  EXPECT_FALSE(tcf->has_basis(7, 7, true)) << "vendor 7 has no interest";
  EXPECT_FALSE(tcf->has_basis(2, 9, false)) << "vendor 9 has no consent";
  EXPECT_TRUE(tcf->has_basis(2, 9, true));
  EXPECT_TRUE(tcf->has_basis(7, 9, true));
  EXPECT_FALSE(tcf->has_basis(1, 9, true)) << "storage is by consent only";
  EXPECT_FALSE(tcf->has_basis(3, 9, true)) << "profiles are by consent only";
  EXPECT_FALSE(tcf->has_basis(2, 8, true));
  EXPECT_FALSE(tcf->has_basis(2, 0, true));
}

/// Purpose 2 by consent and by interest, vendors 1 to 8 in both sections, one restriction of
/// purpose 2 for vendors 3 to 5.
std::string restricted(unsigned kind) {
  BitWriter writer;
  writer.put_tcf_head(2, purpose_bits({2}), purpose_bits({2}));
  writer.put(8, 16).put(0, 1).put(0xff, 8).put(8, 16).put(0, 1).put(0xff, 8);
  writer.put(2, 12);
  writer.put(9, 6).put(0, 2).put(1, 12).put(0, 1).put(4, 16);  // Of another purpose.
  writer.put(2, 6).put(kind, 2).put(1, 12).put(1, 1).put(3, 16).put(5, 16);
  return writer.text();
}

TEST(Tcf, TakesOffWhatThePublisherRestricts) {
  constexpr unsigned kNotAllowed = 0;
  constexpr unsigned kConsent = 1;
  constexpr unsigned kInterest = 2;
  constexpr unsigned kUndefined = 3;
  for (const unsigned kind : {kNotAllowed, kConsent, kInterest, kUndefined}) {
    const std::string text = restricted(kind);
    const std::optional<Tcf> tcf = Tcf::decode(text);
    ASSERT_TRUE(tcf.has_value());
    for (unsigned vendor = 1; vendor <= 8; ++vendor) {
      const bool free = vendor < 3 || vendor > 5;
      EXPECT_EQ(tcf->has_basis(2, vendor, false), free || kind == kConsent) << kind << vendor;
      EXPECT_EQ(tcf->has_basis(2, vendor, true), free || kind == kConsent || kind == kInterest)
          << kind << vendor;
    }
  }
}

TEST(Tcf, RefusesRestrictionsThatEndEarlyOrAreReversed) {
  const std::string sound = restricted(0);
  EXPECT_FALSE(Tcf::decode(std::string_view(sound).substr(0, sound.size() - 4)).has_value());
  BitWriter writer;
  writer.put_tcf_head().put(0, 17).put(0, 17).put(1, 12);
  writer.put(2, 6).put(0, 2).put(1, 12).put(1, 1).put(5, 16).put(3, 16);
  EXPECT_FALSE(Tcf::decode(writer.text()).has_value());
}

}  // namespace
}  // namespace spillway::openrtb::consent
