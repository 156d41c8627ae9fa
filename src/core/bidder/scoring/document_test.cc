#include "bidder/scoring/document.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "bidder/scoring/model_file.h"
#include "bidder/scoring/trained_model_test.h"

namespace spillway::bidder {
namespace {

using std::string_literals::operator""s;

std::string error_of(std::string_view bytes) {
  const auto read = read_document(bytes);
  return read ? "" : read.error().what;
}

TEST(Document, JsonAndUbjsonOfTheSameValueAreTheSame) {
  const auto json =
      read_document(R"({"a":[1,-2.5,null],"b":{"c":"x"},"d":[],"e":true,"f":[[1],"y"]})");
  const auto ubj = read_document(
      "{"
      "i\1a[#i\3i\1D\xc0\4\0\0\0\0\0\0Z"
      "i\1b{i\1cSi\1x}"
      "i\1d[]"
      "i\1eT"
      "i\1f[[$U#i\1\1C"
      "y]"
      "}"s);
  ASSERT_TRUE(json) << json.error().what;
  ASSERT_TRUE(ubj) << ubj.error().what;
  for (const auto* root : {&*json, &*ubj}) {
    const DocValue& a = *root->find("a");
    ASSERT_EQ(a.numbers.size(), 3U);
    EXPECT_EQ(a.numbers[0], 1);
    EXPECT_EQ(a.numbers[1], -2.5);
    EXPECT_TRUE(std::isnan(a.numbers[2]));
    EXPECT_EQ(root->find("b")->find("c")->text, "x");
    EXPECT_EQ(root->find("d")->kind, DocValue::Kind::kNumbers);
    EXPECT_EQ(root->find("e")->number, 1);
    EXPECT_EQ(root->find("f")->items[1].text, "y");
    EXPECT_EQ(root->find("g"), nullptr);
  }
}

TEST(Document, ErrorsSayWhatAndWhere) {
  EXPECT_EQ(error_of(""), "it is empty");
  EXPECT_EQ(error_of("binf\1\2\3"),
            "neither JSON nor UBJSON; XGBoost's old binary models are not read: save as .json or "
            ".ubj");
  EXPECT_EQ(error_of("{L"), "UBJSON: it ends too early at byte 2");
  EXPECT_EQ(error_of("{i\1aX}"), "UBJSON: a marker that is no number's at byte 5");
  EXPECT_EQ(error_of("{i\1aT}x"), "UBJSON: bytes after the document at byte 6");
  EXPECT_EQ(error_of("{i\1aTi\1aT}").substr(0, 48),
            "UBJSON: too many members, or \"a\" is there twice,");
  EXPECT_EQ(error_of(R"({"a":1,"a":2})"), "JSON: member \"a\" is there twice");
  EXPECT_EQ(error_of(R"({"a":1} x)").substr(0, 6), "JSON: ");
}

TEST(Document, NoCountCanAskForMoreThanThereIs) {
  // A typed array of a billion floats, a text of a billion bytes, and values without bytes.
  EXPECT_EQ(error_of("{i\1a[$d#l\x3b\x9a\xca\0"s), "UBJSON: a length beyond the end at byte 13");
  EXPECT_EQ(error_of("{i\1aSl\x3b\x9a\xca\0"s), "UBJSON: a length beyond the end at byte 10");
  EXPECT_EQ(error_of("{i\1a[$T#i\1"s), "UBJSON: a length beyond the end at byte 10");
  EXPECT_EQ(error_of("{i\1a[$Z#i\1 }"s), "UBJSON: a container of values without bytes at byte 10");
  EXPECT_EQ(error_of("{i\xff"s), "UBJSON: a length beyond the end at byte 3");
}

TEST(Document, NestingIsBounded) {
  EXPECT_EQ(error_of("{i\1a" + std::string(100, '[')), "UBJSON: nested too deep at byte 37");
  EXPECT_NE(error_of(R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}"), "");
}

TEST(Document, NoBytesBreakTheReaders) {
  const TrainedModel trained({.columns = 4, .rounds = 3, .depth = 3, .rows = 300});
  base::Rng rng(1);
  for (const std::string& whole : {trained.save("json"), trained.save("ubj")}) {
    for (int i = 0; i < 3'000; ++i) {
      std::string broken = whole;
      for (uint64_t flips = 1 + rng.below(4); flips > 0; --flips) {
        broken[rng.below(broken.size())] = static_cast<char>(rng.below(256));
      }
      if (rng.below(4) == 0) {
        broken.resize(rng.below(broken.size()));
      }
      if (const auto read = read_model_file(broken)) {
        // What was read can be evaluated.
        const std::vector<float> row(read->parity.columns);
        const float* const rows[] = {row.data()};
        float answer = 0;
        read->model.predict(rows, {&answer, 1});
        EXPECT_TRUE(answer >= 0 && answer <= 1);
      } else {
        EXPECT_FALSE(read.error().what.empty());
      }
    }
  }
}

}  // namespace
}  // namespace spillway::bidder
