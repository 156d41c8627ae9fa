#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "exchange/clearing/bid.h"
#include "exchange/clearing/lenient_request.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {
namespace {

using openrtb::Document;
using openrtb::NodeId;
using openrtb::Padded;

/// (seat, bid id) of the bids that pass.
using Accepted = std::set<std::pair<std::string, std::string>>;

/// One auction of another exchange: its request, what its DSPs answered, which bids it took.
class Case {
 public:
  explicit Case(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    text_ = Padded(std::string(std::istreambuf_iterator<char>(in), {}));
    EXPECT_TRUE(row_.walk(text_.view())) << path;
  }

  /// Bids that passed there.
  [[nodiscard]] Accepted expected() const {
    Accepted out;
    const NodeId reply = row_.find(row_.root(), "expected_response");
    for (const NodeId seatbid : row_.children(row_.find(reply, "seatbid"))) {
      for (const NodeId bid : row_.children(row_.find(seatbid, "bid"))) {
        out.emplace(row_.string(row_.find(seatbid, "seat")), row_.string(row_.find(bid, "id")));
      }
    }
    return out;
  }

  /// Bids that pass here, each DSP's answer judged under the case's switches.
  [[nodiscard]] Accepted judged(size_t& bids) const {
    const NodeId asked = row_.find(row_.root(), "request");
    const openrtb::RequestView request = LenientRequest::read(row_, asked);
    Accepted out;
    for (const NodeId dsp : row_.children(row_.find(row_.root(), "dsps"))) {
      DspConfig config;
      config.name = row_.string(row_.find(dsp, "dsp"));
      config.checks = checks();
      const Padded body(R"({"id":"r","seatbid":)" +
                        std::string(row_.raw(row_.find(dsp, "seatbid"))) + '}');
      Document document;
      Answer answer;
      AskedFormats formats;
      formats.reset(row_, asked);
      read_answer(body.view(), request, {.dsp = config, .formats = &formats}, document, answer);
      EXPECT_NE(answer.kind, AnswerKind::kMalformed);
      bids += answer.bids.size();
      for (const Bid& bid : answer.bids) {
        if (bid.valid()) {
          out.emplace(bid.seat, bid.id);
        }
      }
    }
    return out;
  }

 private:
  /// The account's switch before the host's, else `skip`.
  [[nodiscard]] Check switched(std::string_view name) const {
    const NodeId switches = row_.find(row_.root(), "switches");
    for (const char* level : {"account_bid_validations", "host_bid_validations"}) {
      const std::string value = row_.string(row_.find(row_.find(switches, level), name));
      if (!value.empty()) {
        return value == "enforce" ? Check::kEnforce : value == "warn" ? Check::kWarn : Check::kSkip;
      }
    }
    return Check::kSkip;
  }

  [[nodiscard]] BidChecks checks() const {
    BidChecks out;
    out.markup = Check::kSkip;
    // A largest size is what that switch means there.
    out.size = Check::kSkip;
    if (switched("banner_creative_max_size") == Check::kEnforce) {
      out.banner_size_max = {.w = limit("max_creative_width"), .h = limit("max_creative_height")};
    }
    out.secure = switched("secure_markup");
    return out;
  }

  [[nodiscard]] int32_t limit(std::string_view name) const {
    const NodeId host = row_.find(row_.find(row_.root(), "switches"), "host_bid_validations");
    return static_cast<int32_t>(row_.integer(row_.find(host, name)).value_or(0));
  }

  Padded text_{""};
  Document row_;
};

TEST(AuctionCases, TheSameBidsAreTakenAsThere) {
  const std::filesystem::path root = std::filesystem::path(SPILLWAY_VECTORS) / "auction";
  if (!std::filesystem::exists(root)) {
    std::printf("skipped: no test data at %s\n", root.c_str());
    GTEST_SKIP() << "no test data at " << root;
  }
  std::set<std::string> differing;
  size_t with_bids = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const Case auction(entry.path());
    size_t bids = 0;
    const Accepted judged = auction.judged(bids);
    with_bids += bids > 0 ? 1 : 0;
    if (bids > 0 && judged != auction.expected()) {
      differing.insert(entry.path().filename().string());
    }
  }
  EXPECT_GE(with_bids, 11U);
  EXPECT_EQ(differing, std::set<std::string>{});
}

}  // namespace
}  // namespace spillway::exchange::clearing
