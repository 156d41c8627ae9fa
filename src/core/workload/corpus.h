#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "workload/request_template.h"

namespace spillway::workload {

/// A generated mix of bid requests as an exchange sees them. Shares are of requests; what is left
/// of the media types is banner.
struct CorpusSettings {
  uint64_t seed = 1;
  uint32_t requests = 512;  ///< Distinct ones. [1, 100 000].
  double video_ratio = 0.20;
  double native_ratio = 0.10;
  double audio_ratio = 0.05;
  double app_ratio = 0.4;  ///< The rest is sites.
  double two_imps_ratio = 0.15;
  uint32_t imps_max = 2;  ///< Above 2: 1 to so many, evenly.
  double no_floor_ratio = 0.2;
  base::Cpm floor_low{50'000};
  base::Cpm floor_high{1'500'000};
  uint32_t publishers = 20;
  std::vector<uint32_t> tmax_ms = {100, 120, 150, 200, 300};
  double deals_ratio = 0;       ///< Of the imps: one to three deals.
  double consent_ratio = 0;     ///< With a TCF or a U.S. Privacy string, bare or in a GPP string.
  double gzip_ratio = 0;        ///< Sent compressed, when 1 KiB and larger.
  double invalid_ratio = 0;     ///< Broken on purpose.
  uint64_t users = 0;           ///< Drawn anew for every sending, of so many; 0: fixed.
  double user_exponent = 0.95;  ///< Of their Zipf law. (0, 2], not 1.
};

/// The requests of a bidder under a load that is not flattering: users of whom a run meets a
/// million, up to eight imps, deals, blocked categories, a fifth compressed, a tenth broken.
/// Source: workload W2.
[[nodiscard]] CorpusSettings honest_bidder_settings(uint64_t seed);

/// Who the users of a corpus are, when they are drawn for every sending.
struct UserLaw {
  uint64_t users = 0;
  double exponent = 0.95;

  /// In [1, users], by the continuous law nearest to Zipf's; `draw` in [0, 1).
  [[nodiscard]] uint64_t user(double draw) const;
};

/// How texts of others become a corpus.
struct TextSettings {
  double time_scale = 1;  ///< Time runs so many times as fast: money per time shrinks by it.
  double gzip_ratio = 0;
  uint64_t seed = 1;
};

/// A corpus, deterministic from its seed; immutable, any thread. Ids and times are the sender's,
/// new for every request.
class Corpus {
 public:
  enum class Media : uint8_t { kBanner, kVideo, kNative, kAudio };

  struct Item {
    RequestTemplate request;
    uint32_t tmax_ms = 0;          ///< As announced within; 0: not at all.
    Media media = Media::kBanner;  ///< Of the first imp.
    bool gzip = false;             ///< To be sent compressed.
    bool valid = true;             ///< False: broken on purpose.
  };

  /// Requires an item.
  Corpus(std::vector<Item> items, UserLaw law, uint64_t seed);

  [[nodiscard]] static Corpus generate(const CorpusSettings& settings);

  /// A thousand requests of one site, the same in every run: two imps (video, banner), two floors
  /// of 3 cents, ten metros in equal shares, 80 % of the users few and often.
  /// Source: workload W1; the linear congruential generator is that of Numerical Recipes.
  [[nodiscard]] static Corpus parity_bidder();

  /// One request a text; a text that is no JSON object counts as broken on purpose. Requires one.
  [[nodiscard]] static Corpus from_texts(const std::vector<std::string>& texts,
                                         const TextSettings& settings);

  [[nodiscard]] size_t size() const { return items_.size(); }

  /// Wraps around: every index is valid.
  [[nodiscard]] const Item& at(uint64_t index) const { return items_[index % items_.size()]; }

  /// Share of the requests that go out compressed.
  [[nodiscard]] double gzip_ratio() const { return gzip_ratio_; }

  /// Whether every sending has a user of its own.
  [[nodiscard]] bool draws_users() const { return law_.users > 0; }

  /// The user of sending `number`; requires draws_users().
  [[nodiscard]] uint64_t user(uint64_t number) const;

  /// A request whole, for people and tests.
  [[nodiscard]] std::string bytes(uint64_t index, std::string_view id) const;

 private:
  std::vector<Item> items_;
  UserLaw law_;
  uint64_t seed_;
  double gzip_ratio_ = 0;
};

}  // namespace spillway::workload
