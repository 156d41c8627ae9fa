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
  double no_floor_ratio = 0.2;
  base::Cpm floor_low{50'000};
  base::Cpm floor_high{1'500'000};
  uint32_t publishers = 20;
  std::vector<uint32_t> tmax_ms = {100, 120, 150, 200, 300};
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

  [[nodiscard]] static Corpus generate(const CorpusSettings& settings);

  [[nodiscard]] size_t size() const { return items_.size(); }

  /// Wraps around: every index is valid.
  [[nodiscard]] const Item& at(uint64_t index) const { return items_[index % items_.size()]; }

  /// Share of the requests that go out compressed.
  [[nodiscard]] double gzip_ratio() const;

  /// The user of sending `number`, for corpora whose users are drawn a request.
  [[nodiscard]] uint64_t user(uint64_t number) const { return number; }

  /// A request whole, for people and tests.
  [[nodiscard]] std::string bytes(uint64_t index, std::string_view id) const;

 private:
  std::vector<Item> items_;
};

}  // namespace spillway::workload
