#include "base/hmac_sha256.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/sha256_block.h"

namespace spillway::base {
namespace {

std::string hex(const Digest256& digest) {
  std::string out;
  for (const uint8_t byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 0xf];
  }
  return out;
}

TEST(Sha256, HasTheDigestsOfTheStandard) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IsTheSameInHardwareAndSoftware) {
  if (!has_sha256_instructions()) {
    GTEST_SKIP() << "this processor has no instructions for it";
  }
  Rng rng(1);
  Sha256State hardware{};
  Sha256State software{};
  for (int i = 0; i < 1000; ++i) {
    std::string block(kSha256Block, '\0');
    for (char& byte : block) {
      byte = static_cast<char>(rng.next());
    }
    compress_in_hardware(hardware, block);
    compress_in_software(software, block);
    ASSERT_EQ(hardware, software) << i;
  }
}

// RFC 4231, section 4.
TEST(HmacSha256, HasTheTagsOfTheStandard) {
  const auto tag = [](std::string_view key, std::string_view message) {
    return hex(HmacSha256(key).sign(message));
  };
  EXPECT_EQ(tag(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(tag("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(tag(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (char byte = 1; byte <= 25; ++byte) {
    counting += byte;
  }
  EXPECT_EQ(tag(counting, std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  EXPECT_EQ(tag(std::string(20, '\x0c'), "Test With Truncation").substr(0, 32),
            "a3b6167473100ee06e0c796c2955552b");
  EXPECT_EQ(tag(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(tag(std::string(131, '\xaa'),
                "This is a test using a larger than block-size key and a larger than block-size "
                "data. The key needs to be hashed before being used by the HMAC algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(SameInConstantTime, ComparesTexts) {
  EXPECT_TRUE(same_in_constant_time("", ""));
  EXPECT_TRUE(same_in_constant_time("abc", "abc"));
  EXPECT_FALSE(same_in_constant_time("abc", "abd"));
  EXPECT_FALSE(same_in_constant_time("abc", "ab"));
}

}  // namespace
}  // namespace spillway::base
