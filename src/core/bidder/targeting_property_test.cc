#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "bidder/catalog.h"
#include "bidder/creative_fit.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/naive_targeting.h"
#include "bidder/retrieval.h"
#include "bidder/retrieval_plan.h"
#include "bidder/targeting_json.h"
#include "bidder/targeting_random.h"
#include "bidder/time_zone.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::bidder {
namespace {

/// Everything that a retrieval finds for an imp, asked for in portions of `portion`.
std::vector<naive::Match> found(Retrieval& retrieval, const Catalog& catalog, size_t imp,
                                size_t portion) {
  std::vector<naive::Match> out;
  std::vector<Candidate> candidates(portion);
  std::vector<uint32_t> creatives(64);
  retrieval.begin_imp(imp);
  for (size_t n = portion; n == portion;) {
    n = retrieval.next(candidates);
    for (const Candidate& candidate : std::span(candidates).first(n)) {
      naive::Match& match = out.emplace_back();
      match.line_item = catalog.items()[candidate.item].id;
      Misfit reason = Misfit::kNone;
      const size_t count = retrieval.fitting(candidate.item, creatives, reason);
      bool chosen_fits = false;
      for (const uint32_t creative : std::span(creatives).first(count)) {
        match.creatives.push_back(catalog.creatives()[creative].id);
        chosen_fits = chosen_fits || creative == candidate.creative;
      }
      EXPECT_TRUE(chosen_fits);
    }
  }
  return out;
}

/// Line items that an explanation speaks of.
size_t accounted(const Explanation& explanation) {
  size_t out = explanation.candidates;
  for (const Drop& drop : explanation.drops) {
    out += drop.line_items;
  }
  for (const uint32_t misfits : explanation.misfits) {
    out += misfits;
  }
  return out;
}

struct Play {
  size_t requests = 0;
  size_t matches = 0;  ///< Of line items to imps.
  size_t imps_with_some = 0;
  size_t imps = 0;
};

/// `requests` random requests against one random catalog; false at the first mismatch.
bool agree(uint64_t seed, int line_items, size_t requests, Play& play) {
  RandomTargeting random(seed);
  base::Rng rng(seed + 1);
  RequestWriter writer(rng);
  const CatalogRows rows = random.rows(line_items);
  const std::vector<TimeZone> zones = RandomTargeting::zones();
  EXPECT_EQ(check_rows(rows, zones), std::vector<Problem>{});
  const Catalog catalog(rows, zones, seed);
  const naive::Evaluator oracle(rows, zones);
  Retrieval retrieval;
  RequestFacts facts;
  openrtb::Document document;
  for (size_t i = 0; i < requests; ++i) {
    const naive::Request request = random.request();
    const openrtb::Padded text(writer.write(request));
    if (!document.walk(text.view())) {
      ADD_FAILURE() << text.view();
      return false;
    }
    facts.read(document);
    facts.segment_state = request.state;
    const int64_t now_s = kNowS + random.number(-50'000, 100'000);
    retrieval.begin(catalog, facts, now_s, request.seat);
    for (size_t imp = 0; imp < request.imps.size(); ++imp) {
      const auto expected = oracle.matches(request, request.imps[imp], now_s);
      const auto portion = static_cast<size_t>(random.number(1, 20));
      const auto got = found(retrieval, catalog, imp, portion);
      if (got != expected) {
        ADD_FAILURE() << "seed " << seed << ", request " << i << ", imp " << imp << " at " << now_s
                      << ": " << got.size() << " found, " << expected.size() << " expected\n"
                      << text.view();
        return false;
      }
      if (i % 16 == 0) {
        EXPECT_EQ(accounted(retrieval.explain(imp)), catalog.items().size()) << "seed " << seed;
      }
      play.matches += got.size();
      play.imps_with_some += got.empty() ? 0 : 1;
      ++play.imps;
    }
    ++play.requests;
  }
  return true;
}

size_t requests_wanted() {
  constexpr size_t kNormal = 100'000;
  constexpr size_t kLong = 1'000'000;
  return std::getenv("SPILLWAY_LONG") == nullptr ? kNormal
                                                 : kLong;  // NOLINT(concurrency-mt-unsafe)
}

// A million with SPILLWAY_LONG set. A failure prints its seed.
TEST(Targeting, index_and_naive_evaluator_agree_on_random_requests) {
  constexpr size_t kPerCatalog = 1000;
  Play play;
  for (uint64_t seed = 1; play.requests < requests_wanted(); ++seed) {
    const int line_items = seed % 10 == 0 ? 200 : 40;
    ASSERT_TRUE(agree(seed, line_items, kPerCatalog, play));
  }
  // The comparison is worth something only when there is something to compare.
  EXPECT_GT(play.imps_with_some * 4, play.imps);
  EXPECT_LT(play.imps_with_some, play.imps);
  RecordProperty("requests", static_cast<int>(play.requests));
}

TEST(Targeting, index_and_naive_evaluator_agree_where_line_items_fill_several_blocks) {
  Play play;
  ASSERT_TRUE(agree(7001, 9000, 12, play));
  EXPECT_GT(play.matches, 1000U);
}

}  // namespace
}  // namespace spillway::bidder
