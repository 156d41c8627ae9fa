#include "openrtb/codes.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace spillway::openrtb {
namespace {

TEST(Codes, map_every_loss_to_one_seatnonbid_status) {
  EXPECT_EQ(non_bid_of(Loss::kBelowFloor), NonBid::kBelowFloor);
  EXPECT_EQ(non_bid_of(Loss::kBelowDealFloor), NonBid::kBelowDealFloor);
  EXPECT_EQ(non_bid_of(Loss::kSize), NonBid::kCreativeSize);
  EXPECT_EQ(non_bid_of(Loss::kNotSecure), NonBid::kNotSecure);
  EXPECT_EQ(non_bid_of(Loss::kAdvertiser), NonBid::kCreativeAdvertiser);
  EXPECT_EQ(non_bid_of(Loss::kOutbid), NonBid::kRejected);
  EXPECT_EQ(non_bid_of(Loss::kCategory), NonBid::kRejected);
  EXPECT_EQ(non_bid_of(static_cast<Loss>(519)), NonBid::kRejected);
}

TEST(Codes, own_range_is_the_same_number_everywhere) {
  for (uint16_t code = 520; code <= 530; ++code) {
    EXPECT_EQ(static_cast<uint16_t>(non_bid_of(static_cast<Loss>(code))), code);
    EXPECT_NE(describe(static_cast<NonBid>(code)), "");
  }
  EXPECT_EQ(static_cast<uint16_t>(NoBid::kShed), static_cast<uint16_t>(NonBid::kShed));
}

TEST(Codes, unknown_numbers_have_no_words) {
  EXPECT_EQ(describe(static_cast<Loss>(499)), "");
  EXPECT_EQ(describe(static_cast<NonBid>(499)), "");
  EXPECT_EQ(describe(static_cast<NoBid>(499)), "");
  EXPECT_EQ(describe(Loss::kOutbid), "another bid was higher");
  EXPECT_EQ(describe(NoBid::kInvalidRequest), "the request is not valid");
}

}  // namespace
}  // namespace spillway::openrtb
