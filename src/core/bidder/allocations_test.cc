#include "bidder/allocations_test.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/retrieval.h"
#include "bidder/targeting_json.h"
#include "bidder/targeting_random.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace {

std::atomic<size_t> made = 0;

}  // namespace

// Counts every allocation of this test program. Not inlined: GCC would take the pairs for
// mismatched.
[[gnu::noinline]] void* operator new(size_t bytes) {
  made.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  made.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes == 0 ? 1 : bytes);
}

[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }

[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace spillway::bidder {

size_t allocations() { return made.load(std::memory_order_relaxed); }

namespace {

TEST(Allocations, facts_and_retrieval_make_none_after_a_warm_up) {
  RandomTargeting random(5);
  base::Rng rng(6);
  RequestWriter writer(rng);
  const Catalog catalog(random.rows(6000), RandomTargeting::zones(), 1);
  constexpr size_t kRequests = 200;
  std::vector<openrtb::Padded> texts;
  texts.reserve(kRequests);
  for (size_t i = 0; i < kRequests; ++i) {
    texts.emplace_back(writer.write(random.request()));
  }
  openrtb::Document document;
  RequestFacts facts;
  Retrieval retrieval;
  std::vector<Candidate> candidates(20);
  size_t found = 0;
  const auto all = [&] {
    for (size_t i = 0; i < texts.size(); ++i) {
      ASSERT_TRUE(document.walk(texts[i].view()));
      facts.read(document);
      facts.add_geo({.country = "DEU", .region = "be", .metro = "501", .zip = "10117"});
      facts.add_segment("one-that-is-longer-than-a-small-string");
      const auto now_s = kNowS + static_cast<int64_t>(i) * 60;  // Hours end in between.
      retrieval.begin(catalog, facts, now_s, "ours");
      for (size_t imp = 0; imp < facts.imps().size(); ++imp) {
        retrieval.begin_imp(imp);
        found += retrieval.next(candidates);
        found += retrieval.next(candidates);
      }
    }
  };
  all();
  const size_t before = allocations();
  EXPECT_GT(before, 0U);
  all();
  EXPECT_EQ(allocations(), before);
  EXPECT_GT(found, 1000U);
}

}  // namespace
}  // namespace spillway::bidder
