#include "app/catalog/csv.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace spillway::app::catalog {
namespace {

using Records = std::vector<std::vector<std::string>>;

Records records(std::string_view text) {
  CsvReader reader(text);
  Records out;
  std::vector<std::string> fields;
  while (reader.next(fields)) {
    out.push_back(fields);
  }
  return out;
}

TEST(Csv, FieldsAreReadWithAndWithoutQuotes) {
  EXPECT_EQ(records("a,b\n1,2\r\n"), (Records{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(records("\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\n,\n"),
            (Records{{"a,b", "say \"hi\"", "two\nlines"}, {"", ""}}));
  EXPECT_EQ(records("last,line"), (Records{{"last", "line"}}));
  EXPECT_EQ(records("last,"), (Records{{"last", ""}}));
  EXPECT_EQ(records("\n\r\na\n\n\nb\n"), (Records{{"a"}, {"b"}}));
  EXPECT_EQ(records("\xef\xbb\xbfid\n"), (Records{{"id"}}));
  EXPECT_TRUE(records("").empty());
}

TEST(Csv, LinesAreCountedThroughFieldsOfSeveral) {
  CsvReader reader("a\n\"x\ny\nz\"\nlast\n");
  std::vector<std::string> fields;
  std::vector<size_t> lines;
  while (reader.next(fields)) {
    lines.push_back(reader.line());
  }
  EXPECT_EQ(lines, (std::vector<size_t>{1, 2, 5}));
  EXPECT_FALSE(reader.broken());
}

TEST(Csv, AQuoteThatIsNeverClosedIsReported) {
  CsvReader reader("a\n\"b\nc,d");
  std::vector<std::string> fields;
  EXPECT_TRUE(reader.next(fields));
  EXPECT_FALSE(reader.next(fields));
  EXPECT_TRUE(reader.broken());
  EXPECT_EQ(reader.line(), 2U);
}

TEST(Csv, WhatIsWrittenIsReadBack) {
  const std::vector<std::string> fields = {"",     "plain", "a,b",   "\"", "\n",
                                           "\r\n", " x ",   "ü\"\"", ","};
  std::string text;
  for (const char* separator = ""; const std::string& field : fields) {
    text += separator;
    append_csv(text, field);
    separator = ",";
  }
  EXPECT_EQ(records(text + "\n"), Records{fields});
}

}  // namespace
}  // namespace spillway::app::catalog
