// Catalogs as JSON and CSV files.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/catalog_tables.h"
#include "app/catalog/catalog_fixture.h"
#include "app/catalog/csv_files.h"
#include "app/catalog/json_file.h"
#include "app/catalog/problems.h"
#include "bidder/catalog.h"
#include "bidder/generate/catalogs.h"
#include "bidder/model.h"
#include "bidder/model_text.h"

namespace spillway::app::catalog {
namespace {

using testing::awkward_rows;
using testing::Folder;

constexpr int64_t kToday = 1'800'000'000;

std::vector<std::string> problems_of_json(std::string_view text) {
  FileProblems problems;
  (void)read_json("c.json", text, problems);
  return problems.kept();
}

TEST(JsonCatalog, WhatIsWrittenIsReadBack) {
  for (const auto& rows :
       {awkward_rows(), bidder::generate::honest_catalog({.campaigns = 200, .today_s = kToday}),
        bidder::generate::parity_catalog({.campaigns = 100}), bidder::CatalogRows()}) {
    FileProblems problems;
    const std::string text = write_json(rows);
    EXPECT_EQ(read_json("c.json", text, problems), rows);
    EXPECT_EQ(problems.kept(), std::vector<std::string>());
  }
}

TEST(JsonCatalog, ShortFormsAndDefaultsAreUnderstood) {
  FileProblems problems;
  const auto rows = read_json("c.json", R"({
    "advertisers": [{"id": 1, "domain": "a.example", "name": null}],
    "campaigns": [{"id": 2, "advertiser": 1, "most_cpm_micros": 2.5e6, "caps": []}],
    "line_items": [{"id": 3, "campaign": 2, "hours": "never",
                    "targeting": {"zip": {"include": [10115, "SW1A"]}, "country": {}}}],
    "creatives": [{"id": 4, "line_item": 3, "secure": false, "apis": "3,5"}]})",
                              problems);
  EXPECT_EQ(problems.kept(), std::vector<std::string>());
  EXPECT_EQ(rows.advertisers.at(0).time_zone, "UTC");
  EXPECT_EQ(rows.campaigns.at(0).most.micros, 2'500'000);
  EXPECT_EQ(rows.line_items.at(0).targeting.hours, bidder::DayParts());
  EXPECT_EQ(rows.line_items.at(0).targeting.of(bidder::Dimension::kZip).include,
            (std::vector<std::string>{"10115", "SW1A"}));
  EXPECT_FALSE(rows.line_items.at(0).targeting.of(bidder::Dimension::kCountry).restricted());
  EXPECT_FALSE(rows.creatives.at(0).secure);
  EXPECT_EQ(rows.creatives.at(0).apis, (std::vector<uint16_t>{3, 5}));
}

TEST(JsonCatalog, EveryProblemIsNamedWithItsPath) {
  EXPECT_EQ(
      problems_of_json(R"({
    "advertizers": [],
    "advertisers": [{"id": "one"}, 5, {"id": 1, "categories": ["a,b"]}],
    "campaigns": [{"id": 2, "status": "on", "stauts": "active", "margin_ratio": "half",
                   "caps": [{"scope": "universe"}]}],
    "line_items": [{"id": 3, "hours": "mon 9", "targeting": {"planet": {}, "zip": ["1"]},
                    "radii": {}}],
    "creatives": [{"id": 4, "w": 70000}, {"id": 5, "markup": {}}]})"),
      (std::vector<std::string>{
          "c.json: advertizers: unknown; \"advertisers\" is meant?",
          ("c.json: advertisers[0].id: \"one\" is no whole number from "
           "-9223372036854775808 to 9223372036854775807"),
          "c.json: advertisers[1]: must be an object",
          ("c.json: advertisers[2].categories: must be an array of texts or numbers, none "
           "with a comma"),
          "c.json: campaigns[0].status: \"on\" is none of active, paused, archived",
          "c.json: campaigns[0].stauts: unknown; \"status\" is meant?",
          "c.json: campaigns[0].margin_ratio: \"half\" is no number",
          ("c.json: campaigns[0].caps[0].scope: \"universe\" is none of campaign, creative, "
           "advertiser"),
          "c.json: line_items[0].hours: \"9\" is no range of hours (0 to 24)",
          ("c.json: line_items[0].targeting.planet: unknown; dimensions are segment, country, "
           "region, metro, zip, device_type, os, media, size, site, app, domain, bundle, "
           "category, language, position, deal"),
          ("c.json: line_items[0].targeting.zip: must be an object with include, exclude or "
           "both"),
          "c.json: line_items[0].radii: must be an array",
          "c.json: creatives[0].w: \"70000\" is no whole number from 0 to 65535",
          "c.json: creatives[1].markup: must be a text, a number or true or false",
      }));
}

TEST(JsonCatalog, WhatIsNoCatalogIsNamed) {
  EXPECT_EQ(problems_of_json("[]"),
            (std::vector<std::string>{
                "c.json: not an object with advertisers, campaigns, line_items, creatives"}));
  ASSERT_EQ(problems_of_json(R"({"campaigns": [)").size(), 1U);
  EXPECT_TRUE(problems_of_json(R"({"campaigns": [)")[0].starts_with("c.json: not JSON near byte "));
}

/// The page that says how to write a catalog.
std::string page() {
  std::ifstream file(SPILLWAY_SOURCE_DIR "/docs/catalog.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CatalogPage, ItsExampleIsACatalogWithoutProblems) {
  const std::string text = page();
  const size_t begin = text.find("```json\n");
  ASSERT_NE(begin, std::string::npos);
  const size_t from = text.find('{', begin);
  FileProblems problems;
  const auto rows = read_json(
      "page", std::string_view(text).substr(from, text.find("```", from) - from), problems);
  EXPECT_EQ(problems.kept(), std::vector<std::string>());
  EXPECT_EQ(rows.creatives.size(), 1U);
  EXPECT_TRUE(bidder::check_rows(rows, {}).empty());
}

TEST(CatalogPage, HasEveryColumnAndEveryDimension) {
  const std::string text = page();
  adapters::for_each_table([&]<typename Row>(const adapters::Table<Row>& table) {
    const size_t row = text.find("| `" + std::string(table.name) + "` |");
    ASSERT_NE(row, std::string::npos) << table.name;
    const std::string line = text.substr(row, text.find('\n', row) - row);
    for (const auto& column : table.columns) {
      EXPECT_NE(line.find("`" + std::string(column.name) + "`"), std::string::npos)
          << table.name << "." << column.name;
    }
  });
  for (size_t i = 0; i < bidder::kDimensions; ++i) {
    const auto name = bidder::name_of(static_cast<bidder::Dimension>(i));
    EXPECT_NE(text.find("`" + std::string(name) + "`"), std::string::npos) << name;
  }
}

TEST(CsvCatalog, WhatIsWrittenIsReadBack) {
  for (const auto& rows :
       {awkward_rows(), bidder::generate::honest_catalog({.campaigns = 200, .today_s = kToday}),
        bidder::CatalogRows()}) {
    const Folder folder;
    FileProblems problems;
    ASSERT_TRUE(write_csv_folder(folder.file("c"), rows));
    EXPECT_EQ(read_csv_folder(folder.file("c"), problems), rows);
    EXPECT_EQ(problems.kept(), std::vector<std::string>());
  }
}

TEST(CsvCatalog, EveryProblemIsNamedWithItsLine) {
  const Folder folder;
  folder.write("advertiser.csv", "name,id\nA,1\nB\nC,x\n\"D\nD\",2\n");
  folder.write("campaign.csv", "id,id\n1,1\n");
  folder.write("campaign_cap.csv", "campaign,most\n9,1\n");
  folder.write("line_item.csv", "id,campain\n1,1\n");
  folder.write("line_item_value.csv", "line_item\n\"");
  folder.write("creative.csv", "id,markup\n1,\xff\n");
  FileProblems problems;
  (void)read_csv_folder(folder.file(""), problems);
  const std::string at = folder.file("") + "/";
  EXPECT_EQ(problems.kept(),
            (std::vector<std::string>{
                at + "advertiser.csv:3: 1 fields, where the first line has 2",
                at + "advertiser.csv:4: id: \"x\" is no whole number from -9223372036854775808 to "
                     "9223372036854775807",
                at + "campaign.csv:1: column \"id\" stands twice",
                at + "campaign_cap.csv:2: there is no campaign 9",
                at + "line_item.csv:1: there is no column \"campain\"; \"campaign\" is meant?",
                at + "line_item_value.csv:2: a quote is opened and never closed",
                at + "creative.csv: not UTF-8 at byte 12",
            }));
}

TEST(CsvCatalog, AFolderWithoutACatalogIsNamed) {
  const Folder folder;
  FileProblems problems;
  (void)read_csv_folder(folder.file("nothing"), problems);
  EXPECT_EQ(problems.kept(),
            std::vector<std::string>{folder.file("nothing") +
                                     ": none of a catalog's files is in it (advertiser.csv, "
                                     "campaign.csv, …)"});
}

}  // namespace
}  // namespace spillway::app::catalog
