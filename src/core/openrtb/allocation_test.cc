#include <cstddef>
#include <cstdlib>
#include <new>
#include <string_view>

#include <gtest/gtest.h>

#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"

namespace {

size_t allocations = 0;

}  // namespace

// Counts every allocation of this test program. Not inlined: GCC would take the pairs for
// mismatched.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }

[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace spillway::openrtb {
namespace {

TEST(Allocations, walk_validation_and_edits_make_none_after_a_warm_up) {
  const Padded text(
      R"({"id":"a-request-id-longer-than-any-small-string","tmax":200,"cur":["USD","EUR"],)"
      R"("imp":[{"id":"1","bidfloor":0.5,"banner":{"format":[{"w":300,"h":250},{"w":1,"h":1}],)"
      R"("battr":[1]}},{"id":"an-imp-id-longer-than-any-small-string","video":)"
      R"({"mimes":["video/mp4"]}}],"badv":["a-rather-long-domain-name.example"],)"
      R"("bcat":["IAB25"],"x-one":1,"x-tw\u006f":2,"site":{"publisher":{"id":"p"}}})");
  Document document;
  RequestView view;
  EditList edits(document);
  const auto once = [&] {
    ASSERT_TRUE(document.walk(text.view()));
    ASSERT_TRUE(read_request(document, {}, view));
    edits.reset(document);
    edits.set(0, Key::tmax, "100");
    edits.set(0, Key::at, "1");
    edits.remove(document.first_child(view.imp_array));
    ASSERT_GT(edits.pieces().size(), 3u);
  };
  const size_t before = allocations;
  once();
  EXPECT_GT(allocations, before);
  once();
  const size_t warm = allocations;
  once();
  EXPECT_EQ(allocations, warm);
}

}  // namespace
}  // namespace spillway::openrtb
