#include "exchange/notice_url.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace spillway::exchange {
namespace {

TEST(NoticeUrl, ReadsHttpAndHttpsAndNothingElse) {
  const auto plain = parse_notice_url("http://DSP.example/win?p=1#x");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->place, (NoticePlace{.tls = false, .host = "dsp.example", .port = 80}));
  EXPECT_EQ(plain->target, "/win?p=1");
  const auto secure = parse_notice_url("https://[2001:db8::1]:8443?a");
  ASSERT_TRUE(secure.has_value());
  EXPECT_EQ(secure->place, (NoticePlace{.tls = true, .host = "2001:db8::1", .port = 8443}));
  EXPECT_EQ(secure->target, "/?a");
  for (const std::string_view url :
       {"", "ftp://h/", "//h/", "http://", "http:///p", "http://u@h/", "http://h:0/", "http://h:x/",
        "http://h:70000/", "http://h/a b", "http://h/\r\nX: y", "http://[::1/", "http://h%2f/",
        "file:///etc/passwd", "http://[x]/"}) {
    EXPECT_FALSE(parse_notice_url(url).has_value()) << url;
  }
  EXPECT_FALSE(parse_notice_url("http://h/" + std::string(5'000, 'a')).has_value());
}

}  // namespace
}  // namespace spillway::exchange
