#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "openrtb/consent/tcf.h"

namespace spillway::openrtb::consent {
namespace {

constexpr unsigned kLastVendor = 1400;  // The generator's lists end here too.

std::vector<std::string> columns(const std::string& row) {
  std::vector<std::string> out(1);
  for (const char c : row) {
    if (c == '\t') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

/// The ids from 1 to `last` that `allowed` names, as the table writes them.
template <typename Allowed>
std::string list(unsigned last, Allowed allowed) {
  std::string out;
  for (unsigned id = 1; id <= last; ++id) {
    if (allowed(id)) {
      out += (out.empty() ? "" : ",") + std::to_string(id);
    }
  }
  return out;
}

/// The strings and their fields are made by tools/make_tcf_table.mjs with another implementation.
TEST(TcfTable, DecodesEveryStringFieldByFieldAsTheReferenceDoes) {
  std::ifstream file(SPILLWAY_SOURCE_DIR "/src/core/openrtb/consent/tcf_table.tsv");
  size_t rows = 0;
  for (std::string row; std::getline(file, row); ++rows) {
    const std::vector<std::string> want = columns(row);
    ASSERT_EQ(want.size(), 8U) << row;
    const std::optional<Tcf> tcf = Tcf::decode(want[0]);
    ASSERT_TRUE(tcf.has_value()) << want[0];
    EXPECT_EQ(std::to_string(tcf->cmp_id()), want[1]) << want[0];
    EXPECT_EQ(std::to_string(tcf->vendor_list_version()), want[2]) << want[0];
    EXPECT_EQ(std::to_string(tcf->policy_version()), want[3]) << want[0];
    EXPECT_EQ(list(24, [&](unsigned id) { return tcf->purpose_consent(id); }), want[4]) << want[0];
    EXPECT_EQ(list(24, [&](unsigned id) { return tcf->purpose_interest(id); }), want[5]) << want[0];
    EXPECT_EQ(list(kLastVendor, [&](unsigned id) { return tcf->vendor_consent(id); }), want[6])
        << want[0];
    EXPECT_EQ(list(kLastVendor, [&](unsigned id) { return tcf->vendor_interest(id); }), want[7])
        << want[0];
  }
  EXPECT_EQ(rows, 3000U);
}

}  // namespace
}  // namespace spillway::openrtb::consent
