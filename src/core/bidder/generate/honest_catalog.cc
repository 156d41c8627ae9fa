// Workload W2: a catalog that flatters nobody.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/money.h"
#include "base/rng.h"
#include "bidder/generate/catalogs.h"
#include "bidder/generate/creatives.h"
#include "bidder/generate/honest_targeting.h"
#include "bidder/model.h"
#include "bidder/row_order.h"

namespace spillway::bidder::generate {

namespace {

constexpr uint32_t kCampaignsPerAdvertiser = 20;
constexpr int64_t kDayS = 86'400;
constexpr std::array<std::string_view, 8> kZones = {
    "UTC",           "America/New_York", "America/Los_Angeles", "America/Sao_Paulo",
    "Europe/London", "Europe/Berlin",    "Asia/Kolkata",        "Asia/Tokyo"};
constexpr std::array<base::Currency, 3> kCurrencies = {{{}, {{'E', 'U', 'R'}}, {{'G', 'B', 'P'}}}};
constexpr std::array<Size, 6> kSizes = {
    {{300, 250}, {728, 90}, {320, 50}, {160, 600}, {970, 250}, {300, 600}}};
constexpr Size kVideo{640, 360};

class Generator {
 public:
  explicit Generator(const CatalogSettings& settings)
      : rng_(settings.seed),
        campaigns_(settings.campaigns == 0 ? kHonestCampaigns : settings.campaigns),
        today_s_(settings.today_s) {}

  CatalogRows rows() {
    CatalogRows out;
    const uint32_t advertisers = 1 + campaigns_ / kCampaignsPerAdvertiser;
    for (uint32_t id = 1; id <= advertisers; ++id) {
      out.advertisers.push_back(advertiser(id));
    }
    for (uint32_t id = 1; id <= campaigns_; ++id) {
      out.campaigns.push_back(campaign(id, 1 + static_cast<int64_t>(rng_.below(advertisers))));
      const Advertiser& owner =
          out.advertisers.at(static_cast<size_t>(out.campaigns.back().advertiser) - 1);
      const uint64_t items = draw({0.75, 0.20, 0.05}) + 1;
      for (uint64_t i = 0; i < items; ++i) {
        add_line_item(out.campaigns.back(), owner.domain, out);
      }
    }
    put_in_order(out);
    return out;
  }

 private:
  /// An index with these shares; what they leave of 1 falls to the last.
  size_t draw(std::initializer_list<double> shares) {
    double at = rng_.uniform();
    size_t index = 0;
    for (const double share : shares) {
      if (at < share || index + 1 == shares.size()) {
        break;
      }
      at -= share;
      ++index;
    }
    return index;
  }

  /// Whole cents, half of them below the median, few of them far above.
  int64_t money_micros(double median, double low, double high) {
    const double value = std::clamp(median * std::exp(0.8 * rng_.normal()), low, high);
    return static_cast<int64_t>(std::llround(value * 100)) * 10'000;
  }

  Advertiser advertiser(uint32_t id) {
    // Of what the corpus blocks, some is here.
    const bool blocked = rng_.uniform() < 0.002;
    Advertiser out{.id = id,
                   .name = "Advertiser " + std::to_string(id),
                   .domain = blocked ? "shop" + std::to_string(id) + ".blocked.example"
                                     : "brand" + std::to_string(id) + ".example"};
    out.categories = {rng_.uniform() < 0.02 ? std::string("IAB25")
                                            : "IAB" + std::to_string(1 + rng_.below(23))};
    out.time_zone = kZones.at(rng_.below(kZones.size()));
    out.status = rng_.uniform() < 0.98 ? Status::kActive : Status::kPaused;
    return out;
  }

  Campaign campaign(uint32_t id, int64_t advertiser) {
    Campaign out{.id = id, .advertiser = advertiser, .name = "Campaign " + std::to_string(id)};
    out.status = static_cast<Status>(draw({0.85, 0.10, 0.05}));
    out.currency = kCurrencies.at(draw({0.85, 0.10, 0.05}));
    out.goal = static_cast<Goal>(draw({0.80, 0.15, 0.05}));
    constexpr std::array<double, 3> kMedianValues = {2.00, 0.60, 20.00};
    const double median = kMedianValues.at(static_cast<size_t>(out.goal));
    out.goal_value_micros = money_micros(median, 0.05, 100);
    out.most = {out.goal == Goal::kCpm ? out.goal_value_micros : money_micros(3.00, 0.20, 25)};
    out.margin_ratio = static_cast<double>(rng_.below(8)) * 0.05;
    out.daily_micros = money_micros(200, 10, 20'000);
    out.lifetime_micros = rng_.uniform() < 0.30 ? out.daily_micros * 30 : 0;
    out.pacing = static_cast<Pacing>(draw({0.70, 0.15, 0.15}));
    out.cap_failure = rng_.uniform() < 0.80 ? CapFailure::kStrict : CapFailure::kOpen;
    flight(out.start_s, out.end_s);
    add_caps(out.caps);
    return out;
  }

  /// Three of ten have one; of those, one in ten has ended and one in ten has not begun.
  void flight(std::optional<int64_t>& start_s, std::optional<int64_t>& end_s) {
    const double when = rng_.uniform();
    const auto days = static_cast<int64_t>(1 + rng_.below(60));
    if (today_s_ == 0 || when >= 0.30) {
      return;
    }
    if (when < 0.03) {
      start_s = today_s_ - (days + 30) * kDayS;
      end_s = today_s_ - days * kDayS;
    } else if (when < 0.06) {
      start_s = today_s_ + days * kDayS;
    } else {
      start_s = today_s_ - days * kDayS;
      end_s = today_s_ + (61 - days) * kDayS;
    }
  }

  void add_caps(std::vector<Cap>& out) {
    const uint64_t count = rng_.below(4);
    for (uint64_t i = 0; i < count; ++i) {
      const Cap cap{.scope = static_cast<CapScope>(draw({0.80, 0.12, 0.08})),
                    .window = static_cast<CapWindow>(draw({0.25, 0.45, 0.20, 0.10})),
                    .kind = rng_.uniform() < 0.7 ? CapKind::kCalendar : CapKind::kSliding,
                    .most = static_cast<uint32_t>(1 + rng_.below(20))};
      const bool twice = std::ranges::any_of(out, [&cap](const Cap& other) {
        return other.scope == cap.scope && other.window == cap.window && other.kind == cap.kind;
      });
      if (!twice) {
        out.push_back(cap);
      }
    }
  }

  void add_line_item(const Campaign& campaign, const std::string& domain, CatalogRows& out) {
    constexpr std::array<Media, 4> kMedia = {Media::kBanner, Media::kVideo, Media::kNative,
                                             Media::kAudio};
    const Media media = kMedia.at(draw({0.70, 0.18, 0.08, 0.04}));
    LineItem item{.id = std::ssize(out.line_items) + 1, .campaign = campaign.id};
    item.status = rng_.uniform() < 0.95 ? Status::kActive : Status::kPaused;
    item.targeting = targeting_.draw(rng_, media);
    const uint64_t creatives = 1 + draw({0.55, 0.25, 0.12, 0.08});
    for (uint64_t i = 0; i < creatives; ++i) {
      Creative creative = make_creative(
          {.id = std::ssize(out.creatives) + 1,
           .line_item = item.id,
           .media = media,
           .size = media == Media::kVideo ? kVideo : kSizes.at(rng_.below(kSizes.size())),
           .duration_s = static_cast<uint16_t>(rng_.uniform() < 0.6 ? 15 : 30),
           .domain = domain});
      if (rng_.uniform() < 0.05) {
        creative.attributes = {static_cast<uint16_t>(1 + rng_.below(17))};
      }
      out.creatives.push_back(std::move(creative));
    }
    out.line_items.push_back(std::move(item));
  }

  base::Rng rng_;
  uint32_t campaigns_;
  int64_t today_s_;
  HonestTargeting targeting_;
};

}  // namespace

CatalogRows honest_catalog(const CatalogSettings& settings) { return Generator(settings).rows(); }

}  // namespace spillway::bidder::generate
