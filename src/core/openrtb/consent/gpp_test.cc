#include "openrtb/consent/gpp.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "openrtb/consent/bit_writer.h"
#include "openrtb/consent/us_privacy.h"

namespace spillway::openrtb::consent {
namespace {

std::string listed(std::string_view text) {
  const std::optional<Gpp> gpp = Gpp::decode(text);
  if (!gpp) {
    return "none";
  }
  std::string out;
  for (const Gpp::Section& section : gpp->sections()) {
    out += std::to_string(section.id) + '=' + std::string(section.text) + ' ';
  }
  return out;
}

BitWriter header(unsigned entries) {
  BitWriter writer;
  writer.put(3, 6).put(1, 6).put(entries, 12);
  return writer;
}

/// Examples of the specification.
TEST(Gpp, ReadsSectionIdsAndTexts) {
  EXPECT_EQ(listed("DBABM~CPXx"), "2=CPXx ");
  EXPECT_EQ(listed("DBACNY~CPXx~1YNN"), "2=CPXx 6=1YNN ");
  EXPECT_EQ(listed("DBACNYA~CPXx~1YNN"), "2=CPXx 6=1YNN ");
  EXPECT_EQ(listed("DBABjw~CPXx~1YNN"), "5=CPXx 6=1YNN ");
  BitWriter range = header(2);
  range.put(0, 1).put_fibonacci(3).put(1, 1).put_fibonacci(2).put_fibonacci(3);
  EXPECT_EQ(listed(range.text() + "~a~b~c~d~e"), "3=a 5=b 6=c 7=d 8=e ");
  const std::optional<Gpp> gpp = Gpp::decode("DBACNY~CPXx~1YNN");
  EXPECT_EQ(*gpp->find(6), "1YNN");
  EXPECT_EQ(gpp->find(7), nullptr);
}

TEST(Gpp, RefusesWhatIsNotOne) {
  for (const char* text : {"", "1YNN", "CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA", "DBABM",
                           "DBABM~a~b", "DBACNY~a", "DBAB", "DBABM=~a", "DCABM~a"}) {
    EXPECT_EQ(listed(text), "none") << text;
  }
  EXPECT_EQ(listed(header(1).put(0, 200).text() + "~a"), "none") << "a number without end";
  BitWriter wide = header(60);
  for (int i = 0; i < 60; ++i) {
    wide.put(1, 1).put_fibonacci(8).put_fibonacci(8);
  }
  EXPECT_EQ(listed(wide.text() + std::string(540, '~')), "none") << "too many sections";
  EXPECT_EQ(listed(std::string(Gpp::kMaxTextBytes + 1, 'D')), "none");
}

/// A core segment: version 1, `notices` of two bits, then these opt-outs of two bits.
std::string core(unsigned notices, unsigned opt_outs, unsigned count) {
  BitWriter writer;
  writer.put(1, 6).put(0x5555, notices * 2).put(opt_outs, count * 2).put(0, 40);
  return writer.text();
}

struct Case {
  unsigned id, notices, opt_outs;
};

TEST(Gpp, AnyOptOutOfAUsSectionCounts) {
  std::vector<Case> cases = {{7, 6, 3}};
  for (unsigned id = 8; id <= 23; ++id) {
    cases.push_back({id, id == 11 || id == 18 ? 4U : 3U, 2});
  }
  for (const auto& [id, notices, count] : cases) {
    const unsigned none = 0b101010U & ((1U << (2 * count)) - 1);  // 2: did not opt out.
    EXPECT_EQ(us_section_opt_out(id, core(notices, none, count)), OptOut::kNo) << id;
    EXPECT_EQ(us_section_opt_out(id, core(notices, 0, count)), OptOut::kNo) << id;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned one = none ^ (0b11U << (2 * i));  // 2 becomes 1.
      EXPECT_EQ(us_section_opt_out(id, core(notices, one, count)), OptOut::kYes) << id << ' ' << i;
    }
  }
}

TEST(Gpp, TheGlobalPrivacyControlOptsOut) {
  const std::string sound = core(6, 0, 3);
  EXPECT_EQ(us_section_opt_out(7, sound + '.' + BitWriter().put(0b011, 3).text()), OptOut::kYes);
  EXPECT_EQ(us_section_opt_out(7, sound + '.' + BitWriter().put(0b010, 3).text()), OptOut::kNo);
  EXPECT_EQ(us_section_opt_out(7, sound + ".="), OptOut::kUnreadable);
}

TEST(Gpp, WhatCannotBeReadIsNotANo) {
  EXPECT_EQ(us_section_opt_out(6, "1YYN"), OptOut::kYes);
  EXPECT_EQ(us_section_opt_out(6, "1YNN"), OptOut::kNo);
  EXPECT_EQ(us_section_opt_out(7, ""), OptOut::kUnreadable);
  EXPECT_EQ(us_section_opt_out(7, "BVV"), OptOut::kUnreadable);
  EXPECT_EQ(us_section_opt_out(8, "B!VVVVV"), OptOut::kUnreadable);
  for (const unsigned id : {0U, 1U, 5U, 24U, 27U, 4095U}) {
    EXPECT_EQ(us_section_opt_out(id, core(3, 0b1010, 2)), OptOut::kUnreadable) << id;
  }
}

}  // namespace
}  // namespace spillway::openrtb::consent
