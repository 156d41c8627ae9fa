// Arbitrary bytes as a notice: the bidder believes none that it did not sign, and the exchange
// calls no address from which a request line could be broken.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bidder/notice.h"
#include "exchange/notice_url.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spillway;
  static const bidder::NoticeSigner kSigner(
      "https://b.example",
      {{.name = "alpha", .keys = {{.id = "1", .secret = std::string(32, 'a')}}}});
  const std::string text(data, data + size);
  if (kSigner.read("win", text, 1'767'225'600)) {
    std::abort();
  }
  const auto url = exchange::parse_notice_url(text);
  if (!url) {
    return 0;
  }
  if (url->place.host.empty() || url->place.port == 0 || !url->target.starts_with('/')) {
    std::abort();
  }
  for (const std::string_view part :
       {std::string_view(url->place.host), std::string_view(url->target)}) {
    for (const char c : part) {
      if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) {
        std::abort();
      }
    }
  }
  return 0;
}
