#include "bidder/in_flight.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/catalog.h"
#include "bidder/retrieval.h"
#include "bidder/small_catalog_test.h"

namespace spillway::bidder {
namespace {

/// Three line items: always, from ten seconds after noon on, and until twenty seconds after it.
Catalog three(uint64_t version = 1) {
  SmallCatalog small;
  small.add(1);
  small.add(2);
  small.add(3);
  small.rows.line_items[1].start_s = kWednesdayNoonS + 10;
  small.rows.line_items[2].end_s = kWednesdayNoonS + 20;
  return small.compile(version);
}

InFlight table_of(const Catalog& catalog, int64_t unix_s) {
  InFlight out;
  find_in_flight(catalog, unix_s, out);
  return out;
}

TEST(InFlight, each_table_holds_until_the_next_line_item_begins_or_ends) {
  const Catalog catalog = three();
  std::vector<uint64_t> bits;
  std::vector<int64_t> ends;
  for (int64_t at = kWednesdayNoonS; ends.size() < 3;) {
    const InFlight table = table_of(catalog, at);
    EXPECT_EQ(table.from_s, at);
    EXPECT_EQ(table.bits.size(), catalog.index().words());
    bits.push_back(table.bits[0]);
    ends.push_back(table.until_s - kWednesdayNoonS);
    at = table.until_s;
  }
  EXPECT_EQ(bits, (std::vector<uint64_t>{0b101, 0b111, 0b011}));
  EXPECT_EQ(ends, (std::vector<int64_t>{10, 20, 3600})) << "at the latest with the hour";
}

/// How many serve at a time under tables.
size_t serving(Retrieval& retrieval, const Catalog& catalog, int64_t after_s,
               std::array<const InFlight*, 2> tables) {
  const Said said(banner_request());
  retrieval.begin(catalog, said.facts, kWednesdayNoonS + after_s, {}, tables);
  retrieval.begin_imp(0);
  std::vector<Candidate> candidates(9);
  return retrieval.next(candidates);
}

TEST(InFlight, a_table_that_was_made_ahead_is_used_and_no_line_item_is_looked_at) {
  const Catalog catalog = three();
  // That it says something else than the line items do shows who was asked.
  InFlight now = table_of(catalog, kWednesdayNoonS);
  now.bits[0] = 0;
  InFlight next = table_of(catalog, now.until_s);
  next.bits[0] = 0b100;
  Retrieval retrieval;
  EXPECT_EQ(serving(retrieval, catalog, 0, {&now, &next}), 0U);
  EXPECT_EQ(serving(retrieval, catalog, 9, {&now, &next}), 0U);
  EXPECT_EQ(serving(retrieval, catalog, 10, {&now, &next}), 1U);
  EXPECT_EQ(serving(retrieval, catalog, 19, {&next, nullptr}), 1U);
}

TEST(InFlight, without_a_table_of_this_catalog_for_this_time_it_is_worked_out) {
  const Catalog catalog = three();
  const Catalog other = three(2);
  InFlight now = table_of(catalog, kWednesdayNoonS);
  now.bits[0] = 0;
  Retrieval retrieval;
  EXPECT_EQ(serving(retrieval, catalog, 20, {&now, nullptr}), 2U) << "its time is over";
  EXPECT_EQ(serving(retrieval, catalog, -1, {&now, nullptr}), 2U) << "its time is to come";
  EXPECT_EQ(serving(retrieval, other, 5, {&now, nullptr}), 2U) << "it is of another catalog";
  EXPECT_EQ(serving(retrieval, catalog, 15, {nullptr, nullptr}), 3U) << "there is none";
}

}  // namespace
}  // namespace spillway::bidder
