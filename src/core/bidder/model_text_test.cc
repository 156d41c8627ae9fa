#include "bidder/model_text.h"

#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "bidder/model.h"

namespace spillway::bidder {
namespace {

template <typename Enum>
void every_name_is_read_back(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_EQ(parse_name<Enum>(name_of(value)), value);
  }
  EXPECT_FALSE(parse_name<Enum>("nonsense"));
  EXPECT_FALSE(parse_name<Enum>(""));
}

TEST(ModelText, EveryNameIsReadBack) {
  every_name_is_read_back<Status>(3);
  every_name_is_read_back<Goal>(3);
  every_name_is_read_back<Pacing>(3);
  every_name_is_read_back<CapFailure>(2);
  every_name_is_read_back<CapScope>(3);
  every_name_is_read_back<CapWindow>(4);
  every_name_is_read_back<CapKind>(2);
  every_name_is_read_back<Media>(4);
  every_name_is_read_back<Dimension>(kDimensions);
}

TEST(ModelText, NamesAreListedForMessages) {
  EXPECT_EQ(names_of<Status>(), "active, paused, archived");
}

}  // namespace
}  // namespace spillway::bidder
