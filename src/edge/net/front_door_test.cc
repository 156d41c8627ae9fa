#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/address_set.h"
#include "net/buffer_pool.h"
#include "net/gzip.h"
#include "net/http.h"
#include "net/proxy_header.h"
#include "net/server.h"
#include "net/server_fixture.h"

namespace spillway::net {
namespace {

using testing::ServerFixture;
using testing::status_of;

std::string gzip(std::string_view plain) {
  Deflater deflater;
  std::string packed(deflater.bound(plain.size()), '\0');
  packed.resize(deflater.compress(plain, packed.data(), packed.size()));
  return packed;
}

std::string post(std::string_view headers, std::string_view body) {
  return "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(headers) + "\r\n" + std::string(body);
}

const std::string kBinaryHeader =
    std::string("\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c", 16) +
    std::string("\xc6\x33\x64\x07\x0a\x00\x00\x01\x1f\x90\x00\x50", 12);  // 198.51.100.7:8080

TEST(AddressSet, ContainsWhatItsNetworksCover) {
  AddressSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_TRUE(set.add("10.0.0.0/8"));
  EXPECT_TRUE(set.add("192.0.2.1"));
  EXPECT_TRUE(set.add("2001:db8::/33"));
  for (const char* bad : {"10.0.0.1/8", "10.0.0.0/33", "ten", "10.0.0.0/", "::/129", "", "/8"}) {
    EXPECT_FALSE(set.add(bad)) << bad;
  }
  for (const char* in : {"10.1.2.3", "::ffff:10.1.2.3", "192.0.2.1", "2001:db8:7fff::1"}) {
    EXPECT_TRUE(set.contains(std::string_view(in))) << in;
  }
  for (const char* out : {"11.0.0.0", "192.0.2.2", "2001:db8:8000::1", "x", ""}) {
    EXPECT_FALSE(set.contains(std::string_view(out))) << out;
  }
}

TEST(ProxyHeader, IsReadInBothVersionsFromAnyPrefix) {
  for (const auto& [bytes, source] : std::vector<std::pair<std::string, std::string>>{
           {kBinaryHeader, "198.51.100.7:8080"},
           {"PROXY TCP4 198.51.100.7 10.0.0.1 8080 80\r\n", "198.51.100.7:8080"},
           {"PROXY TCP6 2001:db8::7 ::1 8080 80\r\n", "[2001:db8::7]:8080"},
           {"PROXY UNKNOWN\r\n", ""},
           {std::string("\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00", 16), ""}}) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(parse_proxy_header(bytes.substr(0, size)).state, ProxyHeader::State::kMore) << size;
    }
    const ProxyHeader header = parse_proxy_header(bytes + "GET");
    EXPECT_EQ(header.state, ProxyHeader::State::kWhole) << bytes;
    EXPECT_EQ(header.size, bytes.size());
    EXPECT_EQ(header.source, source);
  }
}

TEST(ProxyHeader, IsRefusedWhenItIsNone) {
  std::string short_addresses = kBinaryHeader;
  short_addresses[15] = 4;
  std::string too_long = kBinaryHeader;
  too_long[14] = '\x70';
  std::string version = kBinaryHeader;
  version[12] = '\x11';
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n"), short_addresses, too_long, version,
        std::string("PROXY TCP4 ::1 10.0.0.1 8080 80\r\n"),
        std::string("PROXY TCP4 1.2.3.4 10.0.0.1 80800 80\r\n"),
        std::string("PROXY TCP4 1.2.3.4 10.0.0.1 80\r\n"), "PROXY " + std::string(120, 'x')}) {
    EXPECT_EQ(parse_proxy_header(bytes).state, ProxyHeader::State::kBad) << bytes;
  }
}

TEST(Gzip, AcceptEncodingIsReadWithItsWeights) {
  for (const char* yes : {"gzip", "deflate, gzip;q=0.5", "*", "br;q=1.0, x-gzip", "GZIP"}) {
    EXPECT_TRUE(accepts_gzip(yes)) << yes;
  }
  for (const char* no : {"", "br", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "identity"}) {
    EXPECT_FALSE(accepts_gzip(no)) << no;
  }
}

TEST(Gzip, InflatesWhatFitsTheCapAndNothingElse) {
  BufferPool buffers(8 << 20);
  Inflater inflater;
  using State = Inflater::State;
  const std::string plain(100'000, 'a');
  const std::string packed = gzip(plain);
  EXPECT_EQ(inflater.inflate(packed, plain.size(), buffers).text, plain);
  EXPECT_EQ(inflater.inflate(packed, plain.size() - 1, buffers).state, State::kTooLarge);
  std::string lies = packed;
  lies.replace(lies.size() - 4, 4, std::string("\x05\0\0\0", 4));
  EXPECT_EQ(inflater.inflate(lies, 50'000, buffers).state, State::kTooLarge);
  EXPECT_EQ(inflater.inflate(lies, 200'000, buffers).state, State::kBad);
  EXPECT_EQ(inflater.inflate(packed + "x", 200'000, buffers).state, State::kBad);
  for (size_t size = 0; size < packed.size(); ++size) {
    const auto state = inflater.inflate(packed.substr(0, size), 200'000, buffers).state;
    EXPECT_TRUE(state == State::kBad || state == State::kTooLarge) << size;
  }
  EXPECT_EQ(inflater.inflate(packed, plain.size(), buffers).state, State::kDone);
  EXPECT_LE(buffers.bytes(), 4U << 20);
}

class FrontDoorTest : public ServerFixture {
 protected:
  void open(ListenerSettings settings) { start({}, 1, std::move(settings)); }

  AddressSet loopback() {
    AddressSet set;
    set.add("127.0.0.0/8");
    return set;
  }
};

TEST_F(FrontDoorTest, ACallerBehindATrustedProxyIsNamedByItsHeader) {
  open({.proxies = loopback()});
  std::string peer;
  std::string client;
  custom_ = [&](const Request& request, Reply&) {
    peer = request.peer;
    client = request.client_address;
  };
  EXPECT_EQ(status_of(exchange(kBinaryHeader + post("X-Forwarded-For: 1.1.1.1\r\n", "b"))), "200");
  EXPECT_EQ(peer, "198.51.100.7:8080");
  EXPECT_EQ(client, "198.51.100.7");
  EXPECT_EQ(exchange(post("", "b")), "");
  EXPECT_TRUE(eventually([&] { return counters().proxy_malformed.value() == 1; }));
}

TEST_F(FrontDoorTest, AProxyThatIsNotTrustedIsClosed) {
  AddressSet others;
  others.add("10.0.0.0/8");
  open({.proxies = others});
  EXPECT_EQ(exchange(kBinaryHeader + post("", "b")), "");
  EXPECT_TRUE(eventually([&] { return counters().proxy_untrusted.value() == 1; }));
}

TEST_F(FrontDoorTest, ForwardedForIsBelievedFromTheRightAsFarAsItIsTrusted) {
  AddressSet set = loopback();
  set.add("10.0.0.0/8");
  open({.forwarders = set});
  std::string client;
  custom_ = [&](const Request& request, Reply&) { client = request.client_address; };
  for (const auto& [headers, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", "127.0.0.1"},
           {"X-Forwarded-For: 6.6.6.6, 203.0.113.9 , 10.1.1.1\r\n", "203.0.113.9"},
           {"X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1"},
           {"X-Forwarded-For: 6.6.6.6, evil\r\n", "127.0.0.1"},
           {"X-Forwarded-For: 10.1.1.1\r\n", "10.1.1.1"}}) {
    EXPECT_EQ(status_of(exchange(post(headers, "b"))), "200");
    EXPECT_EQ(client, expected) << headers;
  }
}

TEST_F(FrontDoorTest, ForwardedForOfAStrangerIsIgnored) {
  start();
  std::string client;
  custom_ = [&](const Request& request, Reply&) { client = request.client_address; };
  exchange(post("X-Forwarded-For: 6.6.6.6\r\n", "b"));
  EXPECT_EQ(client, "127.0.0.1");
}

TEST_F(FrontDoorTest, CompressedBodiesArriveInflatedWithAndWithoutAHeader) {
  start();
  const std::string packed = gzip("hello, hello, hello");
  EXPECT_TRUE(
      exchange(post("Content-Encoding: gzip\r\n", packed)).ends_with("[hello, hello, hello]"));
  EXPECT_TRUE(exchange(post("", packed)).ends_with("[hello, hello, hello]"));
  EXPECT_EQ(status_of(exchange(post("Content-Encoding: deflate\r\n", "x"))), "415");
  EXPECT_EQ(status_of(exchange(post("Content-Encoding: gzip\r\n", "{}"))), "400");
  EXPECT_EQ(status_of(exchange(post("", packed.substr(0, 20)))), "400");
  EXPECT_EQ(status_of(exchange(post("", gzip(std::string(50 << 20, ' '))))), "413");
  EXPECT_TRUE(eventually([&] { return counters().gzip_too_large.value() == 1; }));
  EXPECT_EQ(counters().gzip_bad.value(), 2U);
}

TEST_F(FrontDoorTest, LongAnswersAreCompressedForWhoAcceptsIt) {
  start();
  custom_ = [&](const Request& request, Reply& reply) {
    Response response;
    response.body = std::string(request.path() == "/x" ? 5'000 : 500, 'y');
    reply.send(std::move(response));
  };
  const std::string packed = exchange(post("Accept-Encoding: br, gzip\r\n", ""));
  EXPECT_NE(packed.find("Content-Encoding: gzip\r\n"), std::string::npos);
  EXPECT_NE(packed.find("Vary: Accept-Encoding\r\n"), std::string::npos);
  BufferPool buffers(1 << 20);
  Inflater inflater;
  EXPECT_EQ(inflater.inflate(packed.substr(packed.find("\r\n\r\n") + 4), 9'000, buffers).text,
            std::string(5'000, 'y'));
  EXPECT_EQ(exchange(post("Accept-Encoding: gzip;q=0\r\n", "")).find("Content-Encoding"),
            std::string::npos);
  EXPECT_EQ(exchange("GET /short HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n")
                .find("Content-Encoding"),
            std::string::npos);
}

}  // namespace
}  // namespace spillway::net
