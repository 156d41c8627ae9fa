#include "openrtb/macros.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::openrtb {
namespace {

constexpr MacroValues kValues{.auction_id = "a&b=1",
                              .imp_id = "\"><script>\n\t${AUCTION_PRICE}&x=",
                              .price = "1.25",
                              .currency = "USD"};

std::string url(std::string_view text) {
  std::string out;
  append_expanded(out, text, kValues, MacroContext::kUrl);
  return out;
}

std::string markup(std::string_view text) {
  std::string out;
  append_expanded(out, text, kValues, MacroContext::kMarkup);
  return out;
}

/// Expands raw JSON string bytes, checks that they still are a JSON string, and decodes them.
std::string json(std::string_view raw, MacroContext context) {
  std::string out = "\"";
  append_expanded_json(out, raw, kValues, context);
  const Padded padded(out + "\"");
  Document d;
  EXPECT_TRUE(d.walk(padded.view())) << out;
  return d.string(0);
}

TEST(Macros, replace_known_names_and_leave_the_rest) {
  EXPECT_EQ(url("p=${AUCTION_PRICE}${AUCTION_CURRENCY}"), "p=1.25USD");
  EXPECT_EQ(url("${UNKNOWN}${AUCTION_PRICE:HEX}${AUCTION_PRICE"),
            "${UNKNOWN}${AUCTION_PRICE:HEX}${AUCTION_PRICE");
  EXPECT_EQ(url("%24%7BAUCTION_PRICE%7D $ { ${} ${"), "%24%7BAUCTION_PRICE%7D $ { ${} ${");
  EXPECT_EQ(url("${${AUCTION_PRICE}"), "${1.25");
  EXPECT_EQ(url(""), "");
}

TEST(Macros, known_name_without_a_value_becomes_nothing) {
  EXPECT_EQ(url("[${AUCTION_LOSS}${AUCTION_MIN_TO_WIN:B64}]"), "[]");
}

TEST(Macros, are_expanded_in_a_single_pass) {
  EXPECT_EQ(markup("<i>${AUCTION_IMP_ID}</i>"), "<i>\"><script>\n\t${AUCTION_PRICE}&x=</i>");
}

TEST(Macros, base64_form_encodes_the_value) {
  EXPECT_EQ(markup("${AUCTION_PRICE:B64}|${AUCTION_CURRENCY:B64}|${AUCTION_ID:B64}"),
            "MS4yNQ==|VVNE|YSZiPTE=");
  EXPECT_EQ(url("https://d.example/w?p=${AUCTION_PRICE:B64}"),
            "https://d.example/w?p=MS4yNQ%3D%3D");
}

TEST(Macros, values_in_a_query_are_percent_encoded_and_elsewhere_are_not) {
  EXPECT_EQ(url("https://d.example/${AUCTION_ID}?a=${AUCTION_ID}&i=${AUCTION_IMP_ID}"),
            "https://d.example/"
            "a&b=1?a=a%26b%3D1&i=%22%3E%3Cscript%3E%0A%09%24%7BAUCTION_PRICE%7D%26x%3D");
  EXPECT_EQ(markup("<img src=\"https://d.example/i?a=${AUCTION_ID}&b=${AUCTION_ID}\" "
                   "alt=\"${AUCTION_ID}\">"),
            "<img src=\"https://d.example/i?a=a%26b%3D1&b=a%26b%3D1\" alt=\"a&b=1\">");
  EXPECT_EQ(markup("<img src='//d.example/i?a=${AUCTION_ID}'>"),
            "<img src='//d.example/i?a=a%26b%3D1'>");
  EXPECT_EQ(markup("really? ${AUCTION_ID} https://x.example/${AUCTION_ID}"),
            "really? a&b=1 https://x.example/a&b=1");
}

TEST(Macros, in_json_text_keep_the_string_valid) {
  EXPECT_EQ(json("${AUCTION_IMP_ID}", MacroContext::kMarkup), kValues.imp_id);
  EXPECT_EQ(json(R"(<img src=\"https:\/\/d.example\/i?a=1\u0026b=${AUCTION_ID}\">${AUCTION_ID})",
                 MacroContext::kMarkup),
            "<img src=\"https://d.example/i?a=1&b=a%26b%3D1\">a&b=1");
  EXPECT_EQ(json(R"(https:\/\/x.example\/?q\n${AUCTION_ID})", MacroContext::kMarkup),
            "https://x.example/?q\na&b=1");
  EXPECT_EQ(json(R"(\u0024{AUCTION_PRICE})", MacroContext::kUrl), "${AUCTION_PRICE}");
}

}  // namespace
}  // namespace spillway::openrtb
