// The bidder's listener as callers of others use it: compressed both ways, HTTP/2 with and without
// TLS.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "bidder/bidder_process.h"
#include "bidder/model.h"
#include "e2e/exchange_process.h"
#include "net/tls_fixture.h"

namespace spillway::e2e {
namespace {

constexpr std::string_view kRequest =
    R"({"id":"r","tmax":500,"at":1,"site":{"domain":"n.example"},"user":{"id":"u"},)"
    R"("imp":[{"id":"1","banner":{"w":300,"h":250}}]})";
constexpr std::string_view kCurl = "/usr/bin/curl";
constexpr std::string_view kGzip = "/usr/bin/gzip";

bidder::CatalogRows one_campaign() {
  bidder::CatalogRows rows;
  add_campaign(rows, 1, 2.5);
  // Over 1 KiB, so that it is worth compressing.
  rows.creatives.front().markup += std::string(2000, ' ');
  return rows;
}

class BidderListener : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto program : {kCurl, kGzip}) {
      if (!std::filesystem::exists(program)) {
        GTEST_SKIP() << program << " is not here: tools/setup check";
      }
    }
  }

  /// The answer's body and, on a line of its own, its HTTP version, status and bytes received.
  [[nodiscard]] std::string curl(const BidderProcess& bidder, std::string_view scheme,
                                 const std::vector<std::string>& options,
                                 std::string_view body_file) const {
    std::vector<std::string> command{std::string(kCurl),
                                     "-s",
                                     "--max-time",
                                     "20",
                                     "-w",
                                     "\n%{http_version} %{http_code} %{size_download}",
                                     "--data-binary",
                                     "@" + std::string(body_file)};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(fmt::format("{}://127.0.0.1:{}/openrtb2/bid", scheme, bidder.caller().port));
    return run_program(command).out;
  }

  TemporaryFile plain_{kRequest};
};

TEST_F(BidderListener, TakesCompressedRequestsAndCompressesWhatIsWorthIt) {
  const BidderProcess bidder(one_campaign());
  ASSERT_TRUE(bidder.ready());
  const TemporaryFile packed(run_program({std::string(kGzip), "-c", plain_.path()}).out);
  const std::string whole = curl(bidder, "http", {"-H", "Content-Encoding: gzip"}, packed.path());
  EXPECT_NE(whole.find(R"("price":2.5)"), std::string::npos) << whole;
  // Compressed on the wire (curl counts what was sent), whole when unpacked.
  const std::string asked = curl(bidder, "http", {"--compressed"}, plain_.path());
  EXPECT_NE(asked.find(R"("price":2.5)"), std::string::npos) << asked;
  const auto bytes = [](const std::string& out) {
    return std::stoul(out.substr(out.find_last_of(' ') + 1));
  };
  EXPECT_LT(bytes(asked), bytes(whole) / 2);
  const std::string bomb = curl(bidder, "http", {"-H", "Content-Encoding: gzip"}, plain_.path());
  EXPECT_TRUE(bomb.find("1.1 400") != std::string::npos) << bomb;
}

TEST_F(BidderListener, SpeaksHttp2InCleartextAndOverTls) {
  net::testing::Certificates certificates;
  certificates.issue("live", "IP:127.0.0.1");
  const BidderProcess clear(one_campaign());
  ASSERT_TRUE(clear.ready());
  const std::string plain = curl(clear, "http", {"--http2-prior-knowledge"}, plain_.path());
  EXPECT_NE(plain.find(R"("price":2.5)"), std::string::npos) << plain;
  EXPECT_NE(plain.find("\n2 200 "), std::string::npos) << plain;

  const BidderProcess secure(one_campaign(), "",
                             fmt::format(", tls: {{ cert_file: {}, key_file: {} }}",
                                         certificates.pem("live"), certificates.key("live")));
  ASSERT_TRUE(secure.ready());
  const std::vector<std::string> trust{"--cacert", certificates.pem("ca"), "--http2"};
  const std::string sealed = curl(secure, "https", trust, plain_.path());
  EXPECT_NE(sealed.find(R"("price":2.5)"), std::string::npos) << sealed;
  EXPECT_NE(sealed.find("\n2 200 "), std::string::npos) << sealed;
}

}  // namespace
}  // namespace spillway::e2e
