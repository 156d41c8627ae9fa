#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/model/convert.h"
#include "app/model/report.h"
#include "bidder/scoring/trained_model_test.h"

namespace spillway::app {
namespace {

std::vector<std::string> columns() { return {"hour", "instl", "floor_cpm"}; }

std::string trained(const char* format) {
  return bidder::TrainedModel({.columns = 3, .rounds = 8, .depth = 4, .missing_ratio = 0.1})
      .save(format);
}

std::string written(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ModelCommand, WhatItConvertsServes) {
  for (const char* format : {"json", "ubj"}) {
    const auto file = convert_model(trained(format), {.name = "ctr-\"1\"", .features = columns()});
    ASSERT_TRUE(file) << file.error();
    const ModelReport report = report_on(written("converted.json", *file));
    EXPECT_TRUE(report.serves) << report.why;
    EXPECT_EQ(report.name, "ctr-\"1\"");
    EXPECT_EQ(report.trees, 8U);
    EXPECT_EQ(report.parity_rows, 200U);
    EXPECT_NE(json_of(report).find(R"("serves":true)"), std::string::npos);
  }
}

TEST(ModelCommand, AFileIsRefusedWithItsReason) {
  EXPECT_EQ(report_on(written("bare.ubj", trained("ubj"))).reason, "no_parity");
  EXPECT_EQ(report_on("/no/such/file").reason, "unreadable");
  EXPECT_EQ(report_on(written("text.json", "hello")).reason, "syntax");
  const std::string text = text_of(report_on(written("bare.ubj", trained("ubj"))));
  EXPECT_NE(text.find("refused (no_parity): parity: no vectors"), std::string::npos) << text;
}

TEST(ModelCommand, ANameThatTheBidderWouldRefuseIsRefusedAtConversion) {
  for (const std::string& name :
       {std::string("a b"), std::string("a\nb"), std::string("\x1b[31m"), std::string(65, 'a')}) {
    const auto file = convert_model(trained("json"), {.name = name, .features = columns()});
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error(), "name: must be at most 64 letters, digits and signs of ASCII");
  }
  EXPECT_TRUE(
      convert_model(trained("json"), {.name = std::string(64, 'a'), .features = columns()}));
}

TEST(ModelCommand, ConvertingNeedsANameForEachColumn) {
  EXPECT_EQ(convert_model(trained("json"), {.name = "m"}).error(),
            "3 columns, and 0 names for them: give --features");
  EXPECT_EQ(convert_model(trained("json"), {.name = "m", .features = {"hour", "moon", "instl"}})
                .error()
                .substr(0, 24),
            "features: \"moon\" is none");
}

TEST(ModelCommand, EvalAnswersEachRowAndNamesWhatIsWrong) {
  const auto file = convert_model(trained("json"), {.name = "m", .features = columns()});
  ASSERT_TRUE(file);
  std::ostringstream out;
  std::istringstream good("floor_cpm,hour\n0.5,14\n,\n");
  ASSERT_TRUE(eval_model(*file, good, out));
  std::istringstream lines(out.str());
  std::string line;
  int count = 0;
  for (; std::getline(lines, line); ++count) {
    EXPECT_GT(std::stod(line), 0);
    EXPECT_LT(std::stod(line), 1);
  }
  EXPECT_EQ(count, 2);
  std::istringstream unknown("moon\n1\n");
  EXPECT_EQ(eval_model(*file, unknown, out).error(), "line 1: \"moon\" is no feature");
  std::istringstream no_number("hour\n1\nx\n");
  EXPECT_EQ(eval_model(*file, no_number, out).error(), "line 3: \"x\" is no number");
  std::istringstream ragged("hour,instl\n1\n");
  EXPECT_EQ(eval_model(*file, ragged, out).error(), "line 2: 1 fields, 2 names");
}

}  // namespace
}  // namespace spillway::app
