#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"

namespace spillway::openrtb {
namespace {

/// What a walk of `text` says: nullopt when it accepts.
std::optional<WalkErrc> refusal(std::string_view text) {
  const Padded padded(text);
  Document document;
  const auto result = document.walk(padded.view());
  EXPECT_EQ(result.has_value(), document.size() > 0);
  return result ? std::nullopt : std::optional(result.error());
}

TEST(Walk, records_every_value_in_document_order_with_its_span_and_parent) {
  const Padded text(R"( {"id":"a","imp":[{"id":"1","w":-3.5e2},{}],"x y":[null,true,false]} )");
  Document d;
  ASSERT_TRUE(d.walk(text.view()));
  ASSERT_EQ(d.size(), 11u);
  const std::vector<std::string> raws{R"("a")",
                                      R"([{"id":"1","w":-3.5e2},{}])",
                                      R"({"id":"1","w":-3.5e2})",
                                      R"("1")",
                                      "-3.5e2",
                                      "{}",
                                      "[null,true,false]",
                                      "null",
                                      "true",
                                      "false"};
  for (NodeId id = 1; id < d.size(); ++id) {
    EXPECT_EQ(d.raw(id), raws[id - 1]);
  }
  EXPECT_EQ(d.node(4).parent, 3u);
  EXPECT_EQ(d.node(3).next, 6u);
  EXPECT_EQ(d.node(3).key, Key::kNone);
  EXPECT_EQ(d.node(6).key, Key::kNone);
  EXPECT_EQ(d.node(5).key, Key::w);
  EXPECT_EQ(d.node(2).children, 2u);
  EXPECT_EQ(d.first_child(6), kAbsent);
  EXPECT_EQ(d.find(0, "x y"), 7u);
  EXPECT_EQ(d.path_of(5), "imp[0].w");
  EXPECT_EQ(d.path_of(9), "x y[1]");
  EXPECT_EQ(d.path_of(0), "");
}

TEST(Walk, names_the_reason_of_a_refusal) {
  EXPECT_EQ(refusal(""), WalkErrc::kEmpty);
  EXPECT_EQ(refusal(" \n\t "), WalkErrc::kEmpty);
  EXPECT_EQ(refusal("{} {}"), WalkErrc::kTrailing);
  EXPECT_EQ(refusal("{}\xef\xbb\xbf"), WalkErrc::kTrailing);
  EXPECT_EQ(refusal("\xef\xbb\xbf{}"), WalkErrc::kSyntax);
  EXPECT_EQ(refusal("{\"a\":\"\xe9\"}"), WalkErrc::kUtf8);
  EXPECT_EQ(refusal(R"({"a":1,"\u0061":2})"), WalkErrc::kDuplicateKey);
  EXPECT_EQ(refusal(R"({"id":1,"\u0069d":2})"), WalkErrc::kDuplicateKey);
  EXPECT_EQ(refusal(R"([{"x":{"k1":1,"k2":2,"k1":3}}])"), WalkErrc::kDuplicateKey);
  EXPECT_EQ(refusal(R"([{"x":1},{"x":1}])"), std::nullopt);
}

TEST(Walk, refuses_what_the_grammar_refuses) {
  for (const std::string_view text : {"{",
                                      "}",
                                      "[",
                                      "]",
                                      "{]",
                                      "[}",
                                      "[1,]",
                                      "[,1]",
                                      "{,}",
                                      R"({"a"})",
                                      R"({"a":})",
                                      R"({"a":1,})",
                                      R"({a:1})",
                                      R"({"a" 1})",
                                      "[1 2]",
                                      "01",
                                      "-",
                                      "-01",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "1e",
                                      "1e+",
                                      "0x1",
                                      "NaN",
                                      "Infinity",
                                      "tru",
                                      "True",
                                      "nul",
                                      "\"a",
                                      "\"\\",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\u12g4\"",
                                      R"("\ud800")",
                                      R"("\udc00")",
                                      R"("\ud800\u0041")",
                                      R"("\ud800x")",
                                      "\"\t\"",
                                      "\"\n\"",
                                      "'a'",
                                      "[1]]",
                                      "{\"a\":1}}",
                                      "//\n1",
                                      "[1,2",
                                      "{\"a\":1",
                                      "\"\\u0"}) {
    EXPECT_TRUE(refusal(text).has_value()) << text;
  }
  EXPECT_EQ(refusal(std::string_view("\"\0\"", 3)), WalkErrc::kSyntax);
  EXPECT_EQ(refusal("tru"), WalkErrc::kSyntax);
}

TEST(Walk, accepts_what_the_grammar_accepts) {
  for (const std::string_view text :
       {"0", "-0", "1e400", "-1.5E-7", "123456789012345678901234567890", "\"\"", "[]", "{}", "null",
        R"("\ud83d\ude00\u0000\/\b")", "\"\x7f\"", "[[[]]]", R"({"":1})", "\r\n1 ", "0.1e+1",
        "\"\xf0\x9f\x98\x80\""}) {
    EXPECT_EQ(refusal(text), std::nullopt) << text;
  }
}

TEST(Walk, does_not_read_a_value_on_into_the_padding) {
  constexpr std::string_view kText = R"([1,"ab\u0041",true,12345])";
  const std::string text = std::string(kText) + std::string(Document::kPadding, '1');
  for (size_t cut = 1; cut < kText.size(); ++cut) {
    Document d;
    EXPECT_FALSE(d.walk(std::string_view(text.data(), cut))) << cut;
  }
  // "1" with "23" behind it is 1.
  const std::string padded = "1" + std::string(64, '2');
  Document d;
  ASSERT_TRUE(d.walk(std::string_view(padded.data(), 1)));
  EXPECT_EQ(d.integer(0), 1);
}

TEST(Walk, allows_sixty_four_levels_and_not_one_more) {
  const auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(refusal(nested(64)), std::nullopt);
  EXPECT_EQ(refusal(nested(65)), WalkErrc::kDepth);
  EXPECT_EQ(refusal(nested(100'000)), WalkErrc::kDepth);
}

TEST(Walk, holds_no_more_values_than_its_bound) {
  const Padded text("[1,2,3]");
  EXPECT_TRUE(Document(4).walk(text.view()));
  Document small(3);
  const auto result = small.walk(text.view());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), WalkErrc::kTooManyNodes);
  EXPECT_EQ(small.root(), kAbsent);
}

TEST(Walk, finds_a_duplicate_among_ten_thousand_names_quickly) {
  std::string text = "{";
  for (int i = 0; i < 10'000; ++i) {
    text += "\"\\u006b" + std::string(20, 'x') + std::to_string(i) + "\":0,";
  }
  const std::string unique = text + "\"end\":0}";
  const std::string twice = text + "\"k" + std::string(20, 'x') + "77\":0}";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(refusal(unique), std::nullopt);
  EXPECT_EQ(refusal(twice), WalkErrc::kDuplicateKey);
  // Comparing all pairs would take seconds; sorting takes milliseconds.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(Walk, keeps_its_memory_for_the_next_document) {
  const Padded text(R"({"a":[1,2,3,{"b":"c"}],"q":1,"r":2})");
  Document d;
  ASSERT_TRUE(d.walk(text.view()));
  const Node* const before = &d.node(0);
  ASSERT_TRUE(d.walk(text.view()));
  EXPECT_EQ(&d.node(0), before);
}

/// A second opinion with other code: simdjson's DOM, and duplicate names by comparing them all.
class SecondOpinion {
 public:
  bool accepts(std::string_view text) {
    simdjson::dom::element root;
    return parser_.parse(simdjson::padded_string(text)).get(root) == simdjson::SUCCESS &&
           distinct(root);
  }

 private:
  static bool distinct(const simdjson::dom::element& element) {
    if (element.is_array()) {
      const simdjson::dom::array array = element;
      return std::ranges::all_of(array, distinct);
    }
    if (!element.is_object()) {
      return true;
    }
    std::vector<std::string_view> names;
    const simdjson::dom::object object = element;
    for (const auto member : object) {
      if (std::ranges::find(names, member.key) != names.end() || !distinct(member.value)) {
        return false;
      }
      names.push_back(member.key);
    }
    return true;
  }

  simdjson::dom::parser parser_;
};

TEST(Walk, agrees_with_a_second_parser_on_mutated_documents) {
  const std::string seed =
      R"({"id":"a\u00e9\n","imp":[{"id":"1","bidfloor":0.25,"banner":{"w":300,"h":250}},null],)"
      R"("at":1,"tmax":-1.5e2,"x":{"k":true,"l":false,"m":[],"n":{}},"ü":"\ud83d\ude00"})";
  const std::string spice = "{}[]\",:\\u0e1-+.tfn \x01\xc3\xa9";
  // The same documents in every run. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937_64 random(20260818);
  SecondOpinion other;
  int accepted = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string text = seed;
    for (uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = spice[random() % spice.size()];
          break;
        case 1:
          text.erase(at, 1 + random() % 3);
          break;
        case 2:
          text.insert(at, 1, spice[random() % spice.size()]);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 12));
      }
    }
    const bool mine = !refusal(text).has_value();
    ASSERT_EQ(mine, other.accepts(text)) << text;
    accepted += mine ? 1 : 0;
  }
  // Both verdicts must have been exercised.
  EXPECT_GT(accepted, 2'000);
  EXPECT_LT(accepted, 58'000);
}

}  // namespace
}  // namespace spillway::openrtb
