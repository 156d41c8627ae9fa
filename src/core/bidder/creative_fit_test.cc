#include "bidder/creative_fit.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/small_catalog_test.h"

namespace spillway::bidder {
namespace {

/// A creative against the only imp of a request.
class CreativeFit : public ::testing::Test {
 protected:
  CreativeFit() { small_.add(1); }

  Creative& creative() { return small_.rows.creatives[0]; }

  void make_video() {
    creative().media = Media::kVideo;
    creative().w = 640;
    creative().h = 360;
    creative().duration_s = 15;
    creative().mime = "Video/MP4";
    creative().protocols = {3};
  }

  Misfit fit(std::string_view imp, std::string_view members = "") {
    const Said said(R"({"id":"r","imp":[{"id":"1",)" + std::string(imp) + "}]" +
                    std::string(members) + "}");
    const Catalog catalog = small_.compile();
    return creative_fit(catalog, 0, catalog.creatives()[0], said.facts, said.facts.imps()[0]);
  }

  SmallCatalog small_;
};

TEST_F(CreativeFit, media_are_those_of_the_imp) {
  EXPECT_EQ(fit(R"("banner":{"w":300,"h":250})"), Misfit::kNone);
  EXPECT_EQ(fit(R"("video":{"w":300,"h":250})"), Misfit::kMedia);
}

TEST_F(CreativeFit, banners_have_one_of_the_sizes) {
  EXPECT_EQ(fit(R"("banner":{"w":320,"h":250})"), Misfit::kSize);
  EXPECT_EQ(fit(R"("banner":{"format":[{"w":1,"h":1},{"w":300,"h":250}]})"), Misfit::kNone);
  EXPECT_EQ(fit(R"("banner":{"format":[{"wratio":6,"hratio":5,"wmin":300}]})"), Misfit::kNone);
  EXPECT_EQ(fit(R"("banner":{"format":[{"wratio":6,"hratio":5,"wmin":301}]})"), Misfit::kSize);
  EXPECT_EQ(fit(R"("banner":{})"), Misfit::kSize);
}

TEST_F(CreativeFit, video_is_no_larger_than_its_player) {
  make_video();
  EXPECT_EQ(fit(R"("video":{"w":640,"h":480})"), Misfit::kNone);
  EXPECT_EQ(fit(R"("video":{"w":320,"h":480})"), Misfit::kSize);
  EXPECT_EQ(fit(R"("video":{})"), Misfit::kNone);
}

TEST_F(CreativeFit, durations_are_within_bounds_or_exactly_as_required) {
  make_video();
  EXPECT_EQ(fit(R"("video":{"minduration":15,"maxduration":15})"), Misfit::kNone);
  EXPECT_EQ(fit(R"("video":{"minduration":16})"), Misfit::kDuration);
  EXPECT_EQ(fit(R"("video":{"maxduration":14})"), Misfit::kDuration);
  EXPECT_EQ(fit(R"("video":{"rqddurs":[10,20]})"), Misfit::kDuration);
  EXPECT_EQ(fit(R"("video":{"rqddurs":[10,15]})"), Misfit::kNone);
}

TEST_F(CreativeFit, types_and_protocols_are_among_those_named) {
  make_video();
  EXPECT_EQ(fit(R"("video":{"mimes":["video/webm"]})"), Misfit::kMime);
  EXPECT_EQ(fit(R"("video":{"mimes":["video/mp4"],"protocols":[2]})"), Misfit::kProtocol);
  EXPECT_EQ(fit(R"("video":{"mimes":["VIDEO/mp4"],"protocols":[2,3]})"), Misfit::kNone);
  EXPECT_EQ(fit(R"("video":{"protocol":2})"), Misfit::kProtocol);
}

TEST_F(CreativeFit, frameworks_that_are_not_named_are_not_there) {
  creative().apis = {3, 5};
  EXPECT_EQ(fit(R"("banner":{"w":300,"h":250})"), Misfit::kApi);
  EXPECT_EQ(fit(R"("banner":{"w":300,"h":250,"api":[3]})"), Misfit::kApi);
  EXPECT_EQ(fit(R"("banner":{"w":300,"h":250,"api":[5,3]})"), Misfit::kNone);
}

TEST_F(CreativeFit, blocked_attributes_are_kept_out) {
  creative().attributes = {6};
  EXPECT_EQ(fit(R"("banner":{"w":300,"h":250,"battr":[1,6]})"), Misfit::kAttribute);
  EXPECT_EQ(fit(R"("banner":{"w":300,"h":250,"battr":[1]})"), Misfit::kNone);
}

TEST_F(CreativeFit, secure_imps_take_secure_creatives) {
  creative().secure = false;
  EXPECT_EQ(fit(R"("secure":1,"banner":{"w":300,"h":250})"), Misfit::kSecure);
  EXPECT_EQ(fit(R"("secure":0,"banner":{"w":300,"h":250})"), Misfit::kNone);
}

TEST_F(CreativeFit, languages_are_among_those_wanted_when_there_is_one) {
  creative().language = "DE";
  constexpr std::string_view kBanner = R"("banner":{"w":300,"h":250})";
  EXPECT_EQ(fit(kBanner, R"(,"wlang":["fr"])"), Misfit::kLanguage);
  EXPECT_EQ(fit(kBanner, R"(,"wlangb":["de-CH"])"), Misfit::kNone);
  creative().language = "";
  EXPECT_EQ(fit(kBanner, R"(,"wlang":["fr"])"), Misfit::kNone);
}

}  // namespace
}  // namespace spillway::bidder
