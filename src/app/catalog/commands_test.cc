// The program itself, over files and both databases.
#include <algorithm>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/catalog_source.h"
#include "adapters/postgres_fixture.h"
#include "app/catalog/catalog_fixture.h"
#include "app/catalog/json_file.h"
#include "bidder/caps/keys.h"
#include "bidder/caps/user.h"
#include "bidder/generate/catalogs.h"
#include "bidder/model.h"

namespace spillway::app::catalog {
namespace {

using testing::awkward_rows;
using testing::Folder;
using testing::run_catalog;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CatalogProgram, ACatalogGoesThroughEveryPlaceUnchanged) {
  const Folder folder;
  const std::string text = write_json(awkward_rows());
  folder.write("in.json", text);
  std::vector<std::string> places = {"sqlite:" + folder.file("c.db"), folder.file("csv")};
  auto& server = adapters::testing::PostgresServer::shared();
  if (adapters::testing::PostgresServer::installed()) {
    ASSERT_GT(server.pid(), 0) << server.error();
    places.push_back("'" + server.address("postgres") + "'");
  }
  std::string from = folder.file("in.json");
  for (const std::string& place : places) {
    std::string args = "import --from ";
    args.append(from).append(" --to ").append(place);
    const auto imported = run_catalog(args);
    EXPECT_EQ(imported.status, 0) << imported.out;
    const auto checked = run_catalog("check " + place);
    EXPECT_EQ(checked.status, 0) << checked.out;
    EXPECT_NE(checked.out.find("1 advertisers, 1 campaigns, 2 line items, 1 creatives, 0 problems"),
              std::string::npos)
        << checked.out;
    from = place;
  }
  const auto exported = run_catalog("export --from " + from + " --to " + folder.file("out.json"));
  EXPECT_EQ(exported.status, 0) << exported.out;
  EXPECT_EQ(text_of(folder.file("out.json")), text);
}

TEST(CatalogProgram, ACatalogWithProblemsIsNotImported) {
  const Folder folder;
  auto rows = awkward_rows();
  rows.advertisers[0].time_zone = "Mars/Olympus";
  rows.campaigns[0].margin_ratio = 1.5;
  folder.write("in.json", write_json(rows));
  const std::string to = "sqlite:" + folder.file("c.db");
  const auto refused = run_catalog("import --from " + folder.file("in.json") + " --to " + to);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.out.find("advertiser 1: time_zone: "), std::string::npos) << refused.out;
  EXPECT_NE(refused.out.find("Mars/Olympus"), std::string::npos) << refused.out;
  EXPECT_NE(refused.out.find("campaign 5: margin_ratio: "), std::string::npos) << refused.out;
  EXPECT_NE(refused.out.find("2 problems\n"), std::string::npos) << refused.out;
  EXPECT_NE(refused.out.find("nothing was written to " + to), std::string::npos) << refused.out;
  EXPECT_EQ(run_catalog("check " + to).status, 3);
}

TEST(CatalogProgram, ProblemsAreListedAsJson) {
  const Folder folder;
  auto rows = awkward_rows();
  rows.advertisers[0].time_zone = "Mars/Olympus";
  folder.write("in.json", write_json(rows));
  const auto checked = run_catalog("check --json " + folder.file("in.json"));
  EXPECT_EQ(checked.status, 1);
  EXPECT_NE(checked.out.find(R"("problems":[{"kind":"advertiser","id":1,"field":"time_zone",)"),
            std::string::npos)
      << checked.out;
  EXPECT_NE(checked.out.find(R"("problem_count":1})"), std::string::npos) << checked.out;
}

TEST(CatalogProgram, WhatCannotBeMeantIsAProblem) {
  const Folder folder;
  auto rows = awkward_rows();
  rows.advertisers[0].domain = "https://shop.example";
  rows.line_items[0].targeting.of(bidder::Dimension::kOs) = {.include = {"iOS"},
                                                             .exclude = {"ios"}};
  rows.creatives[0].click_url = "javascript:alert(1)";
  folder.write("in.json", write_json(rows));
  const auto checked = run_catalog("check " + folder.file("in.json"));
  EXPECT_EQ(checked.status, 1);
  for (const char* const part :
       {": domain: ", "(https://shop.example)", ": targeting.os.exclude: is in include too",
        ": click_url: ", "(javascript:alert(1))", "3 problems\n"}) {
    EXPECT_NE(checked.out.find(part), std::string::npos) << part << " in " << checked.out;
  }
}

TEST(CatalogProgram, WorkloadsAreTheSameForTheSameSeed) {
  const Folder folder;
  const std::string args = "generate w2 --campaigns 50 --seed 9 --today 2027-01-01 --to ";
  EXPECT_EQ(run_catalog(args + "sqlite:" + folder.file("a.db")).status, 0);
  EXPECT_EQ(run_catalog(args + folder.file("b.json")).status, 0);
  const auto from_store = (*adapters::open_catalog("sqlite:" + folder.file("a.db")))->load();
  ASSERT_TRUE(from_store) << from_store.error();
  const auto rows =
      bidder::generate::honest_catalog({.seed = 9, .campaigns = 50, .today_s = 1'798'761'600});
  EXPECT_EQ(from_store->rows, rows);
  EXPECT_EQ(text_of(folder.file("b.json")), write_json(rows));
}

TEST(CatalogProgram, UsersArePrintedOneALine) {
  const auto printed = run_catalog("users w1 --first 99999 --count 5");
  EXPECT_EQ(printed.status, 0);
  EXPECT_TRUE(printed.out.starts_with(R"({"id":"99999","segments":[)")) << printed.out;
  EXPECT_EQ(std::count(printed.out.begin(), printed.out.end(), '\n'), 2) << printed.out;
}

TEST(CatalogProgram, UsersArePrintedAsTheCommandsThatTheBiddersRedisTakes) {
  const auto printed = run_catalog("users w1 --count 1 --redis buyeruid");
  EXPECT_EQ(printed.status, 0);
  const auto user = bidder::caps::hash_user("buyeruid", "b-1");
  ASSERT_TRUE(user);
  const std::string key = bidder::caps::segments_key(*user);
  EXPECT_TRUE(printed.out.starts_with("*5\r\n$3\r\nSET\r\n$" + std::to_string(key.size()) + "\r\n" +
                                      key + "\r\n$"))
      << printed.out;
  EXPECT_TRUE(printed.out.ends_with("\r\n$2\r\nEX\r\n$7\r\n1209600\r\n")) << printed.out;
}

TEST(CatalogProgram, WrongUsageAndMissingPlacesHaveTheirStatus) {
  EXPECT_EQ(run_catalog("").status, 2);
  EXPECT_EQ(run_catalog("check").status, 2);
  EXPECT_EQ(run_catalog("generate w3 --to x.json").status, 2);
  EXPECT_EQ(run_catalog("generate w2 --today 2027-02-30 --to x.json").status, 2);
  EXPECT_EQ(run_catalog("--help").status, 0);
  EXPECT_EQ(run_catalog("check sqlite:/no/such/folder/c.db").status, 3);
  EXPECT_EQ(run_catalog("check /no/such.json").status, 3);
  EXPECT_EQ(run_catalog("check /no/such/folder").status, 3);
  EXPECT_EQ(run_catalog("migrate mysql://x").status, 3);
  EXPECT_EQ(run_catalog("users w1 --count 1 --to /no/such/folder/users").status, 3);
}

TEST(CatalogProgram, WhatAFileHoldsDoesNotCommandTheTerminal) {
  const Folder folder;
  auto rows = awkward_rows();
  rows.advertisers[0].time_zone = "\x1b]0;x\x07" + std::string(10'000, 'z');
  folder.write("in.json", write_json(rows));
  const auto checked = run_catalog("check " + folder.file("in.json"));
  EXPECT_EQ(checked.status, 1);
  EXPECT_NE(checked.out.find("(\\x1b]0;x\\x07zzz"), std::string::npos) << checked.out;
  EXPECT_LT(checked.out.size(), 1'000U);
}

TEST(CatalogProgram, ShowsNoPasswordOfADatabase) {
  const Folder folder;
  folder.write("in.json", "{");
  for (const std::string address :
       {"postgres://bob:tell-nobody@127.0.0.1:1/x", "postgres://127.0.0.1:1/x?password=tell-nobody",
        "postgres://bob:tell-nobody@[::1"}) {
    for (const std::string& args :
         {"check '" + address + "'", "check --json '" + address + "'",
          "generate w1 --campaigns 8 --to '" + address + "'",
          "import --from " + folder.file("in.json") + " --to '" + address + "'"}) {
      const auto ended = run_catalog(args);
      EXPECT_NE(ended.status, 0) << args;
      EXPECT_EQ(ended.out.find("tell-nobody"), std::string::npos) << args << ": " << ended.out;
    }
  }
}

TEST(CatalogProgram, AnEmptyDatabaseIsMadeAndMadeOnce) {
  const Folder folder;
  const std::string place = "sqlite:" + folder.file("c.db");
  EXPECT_EQ(run_catalog("migrate " + place).out, place + ": 2 migrations ran\n");
  EXPECT_EQ(run_catalog("migrate " + place).out, place + ": up to date\n");
  EXPECT_EQ(run_catalog("check " + place).status, 0);
}

}  // namespace
}  // namespace spillway::app::catalog
