#include "exchange/clearing/banner_types.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace spillway::exchange::clearing {
namespace {

std::string types_of(std::string_view markup) {
  const BannerTypes types = banner_types(markup);
  std::string out;
  for (const BannerType type : kBannerTypes) {
    out += types.has(type) ? std::to_string(static_cast<int>(type)) : "";
  }
  return out;
}

TEST(BannerTypesTest, TagsTellWhatMarkupIs) {
  struct Row {
    std::string_view markup;
    std::string_view types;
  };

  const Row rows[] = {
      {"<script src=https://a.example/a.js></script>", "3"},
      {"<div><SCRIPT>x()</SCRIPT><img src=a></div>", "3"},
      {"<iframe src='https://a.example'></iframe>", "4"},
      {"<iframe></iframe><script/>", "34"},
      {"<a href=https://a.example><img src=a.png></a>", "2"},
      {"<a href=https://a.example>Buy <b>now</b></a>", "1"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(types_of(row.markup), row.types) << row.markup;
  }
}

TEST(BannerTypesTest, WhatDoesNotTellIsNoType) {
  for (const std::string_view markup :
       {"", "Buy now", "{\"native\":{}}", "<div style='background:url(a.png)'></div>",
        "<svg></svg>", "<video src=a></video>", "<VAST version='3.0'></VAST>"}) {
    EXPECT_EQ(types_of(markup), "") << markup;
  }
  EXPECT_EQ(types_of("<scripted>x</scripted><imgs>"), "1") << "not these tags";
}

}  // namespace
}  // namespace spillway::exchange::clearing
