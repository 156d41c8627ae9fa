#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace spillway::exchange::clearing {

/// What `banner.btype` blocks. Source: OpenRTB 2.6, "List: Banner Ad Types".
enum class BannerType : uint8_t { kText = 1, kImage = 2, kScript = 3, kIframe = 4 };

inline constexpr std::array<BannerType, 4> kBannerTypes{BannerType::kText, BannerType::kImage,
                                                        BannerType::kScript, BannerType::kIframe};

class BannerTypes {
 public:
  void add(BannerType type) { bits_ |= 1U << static_cast<unsigned>(type); }

  [[nodiscard]] bool has(BannerType type) const {
    return ((bits_ >> static_cast<unsigned>(type)) & 1U) != 0;
  }

 private:
  unsigned bits_ = 0;
};

/// What banner markup (decoded) plainly is: script and iframe by their tags, both if it has both;
/// without either, an image by its tag, else text when it is HTML that could show nothing else.
/// None for what does not tell: no HTML, other media, images of style. Tags in comments count.
/// Linear.
[[nodiscard]] BannerTypes banner_types(std::string_view markup);

}  // namespace spillway::exchange::clearing
