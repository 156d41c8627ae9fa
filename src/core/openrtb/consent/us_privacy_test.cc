#include "openrtb/consent/us_privacy.h"

#include <gtest/gtest.h>

namespace spillway::openrtb::consent {
namespace {

TEST(UsPrivacy, TheThirdCharacterOptsOut) {
  for (const char* text : {"1YYN", "1-Y-", "1nyn", "1NYY"}) {
    EXPECT_EQ(us_privacy_opt_out(text), OptOut::kYes) << text;
  }
  for (const char* text : {"1YNN", "1---", "1yny"}) {
    EXPECT_EQ(us_privacy_opt_out(text), OptOut::kNo) << text;
  }
}

TEST(UsPrivacy, WhatIsNoStringOfVersionOneIsUnreadable) {
  for (const char* text : {"", "1", "1YN", "1YNNN", "2YNN", "1XNN", "YYNN", "1Y N"}) {
    EXPECT_EQ(us_privacy_opt_out(text), OptOut::kUnreadable) << text;
  }
}

}  // namespace
}  // namespace spillway::openrtb::consent
