#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "exchange/fake_market.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::exchange {
namespace {

namespace fs = std::filesystem;

using openrtb::Document;
using openrtb::kAbsent;
using openrtb::Kind;
using openrtb::NodeId;

/// Where a DSP's request differs from the test data's, and why.
struct Difference {
  std::string_view file, member, why;
};

constexpr Difference kDifferences[] = {
    {.file = "request-no-user", .member = "user", .why = "no user-sync cookies are read"},
    {.file = "request-other-user", .member = "user", .why = "no user-sync cookies are read"},
    {.file = "tmax", .member = "user", .why = "no user-sync cookies are read"},
    {.file = "tmax", .member = "tmax", .why = "what is left is announced, not the caller's"},
};

constexpr std::string_view kFiles[] = {"activity-tid-off",
                                       "explicit-buyeruid",
                                       "request-multi-bidders-one-no-resp",
                                       "request-no-user",
                                       "request-other-user",
                                       "schain-host-and-request",
                                       "schain-host-only",
                                       "tmax"};

/// A value without white space, members in order of name.
std::string canonical(const Document& document, NodeId node) {
  std::vector<std::string> parts;
  for (const NodeId child : document.children(node)) {
    const std::string name = document.name(child);
    parts.push_back((name.empty() ? "" : name + ":") + canonical(document, child));
  }
  if (document.is(node, Kind::kObject)) {
    std::ranges::sort(parts);
  }
  if (!document.is(node, Kind::kObject) && !document.is(node, Kind::kArray)) {
    return std::string(document.raw(node));
  }
  std::string out = "{";
  for (const std::string& part : parts) {
    out += part + ",";
  }
  return out + "}";
}

/// One file of the shared test data: the request, and what each of its DSPs should be sent.
class RequestVectors : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kRoot)) {
      std::printf("skipped: no shared test data at %s\n", kRoot.c_str());
      GTEST_SKIP() << "no shared test data";
    }
  }

  static std::string contents(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  static inline const fs::path kRoot = fs::path(SPILLWAY_VECTORS) / "auction";
};

/// Our names are lower case, and compared without case.
std::string name_of_dsp(const Document& vector, NodeId dsp) {
  std::string name = vector.string(vector.find(dsp, "dsp"));
  for (char& c : name) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  return name;
}

/// Runs the file's request past the file's DSPs.
void run(FakeMarket& market, const Document& vector) {
  const NodeId switches = vector.find(vector.root(), "switches");
  if (vector.find(switches, "host_schain_flag") != kAbsent) {
    market.snapshot.accounts[0].seller = {
        .asi = "pbshostcompany.com", .sid = "00001", .begins_complete = false};
  }
  std::set<std::string> names;
  for (const NodeId dsp : vector.children(vector.find(vector.root(), "dsps"))) {
    names.insert(name_of_dsp(vector, dsp));
  }
  for (const std::string& name : names) {
    market.add(name, answers_no_bid());
  }
  market.run(vector.raw(vector.find(vector.root(), "request")));
}

bool is_listed(std::string_view file, std::string_view member) {
  return std::ranges::any_of(kDifferences, [&](const Difference& difference) {
    return difference.file == file && difference.member == member;
  });
}

TEST_F(RequestVectors, EachDspIsSentWhatTheTestDataSaysButForANamedList) {
  std::set<std::string> differing;
  for (const std::string_view file : kFiles) {
    const openrtb::Padded text(contents(kRoot / (std::string(file) + ".json")));
    Document vector;
    ASSERT_TRUE(vector.walk(text.view())) << file;
    FakeMarket market;
    run(market, vector);
    for (const NodeId dsp : vector.children(vector.find(vector.root(), "dsps"))) {
      const NodeId expected = vector.find(dsp, "expect_request");
      if (expected == kAbsent) {
        continue;
      }
      const std::string name = name_of_dsp(vector, dsp);
      const openrtb::Padded sent_text(market.seen[name + "/display"]);
      Document sent;
      ASSERT_TRUE(sent.walk(sent_text.view())) << file << ' ' << name;
      for (const std::string_view member : {"user", "device", "regs", "source", "tmax"}) {
        const NodeId wanted_node = vector.find(expected, member);
        std::string wanted = canonical(vector, wanted_node);
        // The data's host writes a fixed word where the id of the request belongs.
        const size_t rid = wanted.find("BidRequest");
        if (rid != std::string::npos) {
          wanted.replace(rid, 10, vector.string(vector.find(expected, "id")));
        }
        const NodeId given = sent.find(sent.root(), member);
        if (member == "tmax" && wanted_node == kAbsent) {
          continue;  // It is always announced.
        }
        if (wanted != canonical(sent, given)) {
          EXPECT_TRUE(is_listed(file, member))
              << file << ' ' << name << ' ' << member << "\nwanted " << wanted << "\nsent "
              << canonical(sent, given);
          differing.insert(std::string(file) + ' ' + std::string(member));
        }
      }
    }
  }
  for (const Difference& difference : kDifferences) {
    EXPECT_TRUE(
        differing.contains(std::string(difference.file) + ' ' + std::string(difference.member)))
        << difference.file << ' ' << difference.member << " no longer differs";
  }
}

}  // namespace
}  // namespace spillway::exchange
