#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::exchange::clearing {

/// One asset as an imp's native request asks for it. 0 and -1: not said.
struct NativeAsset {
  int64_t id = -1;
  openrtb::Key kind = openrtb::Key::kNone;  ///< title, img, video or data.
  bool required = false;
  int64_t len = 0;             ///< Of a title: the most code points.
  int64_t wmin = 0, hmin = 0;  ///< Of an img.
};

/// What regs.dsa demands. Source: IAB Europe/Tech Lab "DSA Transparency" for OpenRTB, 2023.
struct DsaDemand {
  bool is_required = false;        ///< dsarequired 2 or 3: bids without bid.ext.dsa are not taken.
  int64_t publisher_renders = -1;  ///< pubrender: 0 cannot, 1 can, 2 will; -1 unsaid.
};

/// A request as the rules about formats read it: in its own document, when a bid raises the
/// question, so that auctions without such bids pay nothing. Native requests, which are JSON in a
/// string, are read once an imp.
///
/// One thread owns it; an auction holds one for all its answers. Memory: at most 4 096 values of
/// native request and of native markup each, kept.
class AskedFormats {
 public:
  /// Starts over for a request at `root` of `document`, which must live until the next reset.
  void reset(const openrtb::Document& document, openrtb::NodeId root);

  [[nodiscard]] const openrtb::Document& document() const { return *document_; }

  [[nodiscard]] openrtb::NodeId root() const { return root_; }

  [[nodiscard]] const DsaDemand& dsa() const { return dsa_; }

  /// The assets an imp's native asks for, the first 64 of them; empty when it asks for none that
  /// can be read. `index` of the imp, `imp` its node.
  const std::vector<NativeAsset>& native(uint32_t index, openrtb::NodeId imp);

  /// Whether native markup (decoded JSON text) gives what was asked for: an object, or one under
  /// "native", with a link and assets (or the URL of some), every required asset among them, each
  /// of the kind its id was asked as, titles no longer and images no smaller than asked.
  bool native_fits(std::string_view markup, const std::vector<NativeAsset>& asked);

 private:
  struct Wish {
    bool is_read = false;
    std::vector<NativeAsset> assets;
  };

  const openrtb::Document* document_ = nullptr;
  openrtb::NodeId root_ = openrtb::kAbsent;
  DsaDemand dsa_;
  std::vector<Wish> wishes_;  ///< By imp.
  std::string text_;
  openrtb::Document request_{kMaxValues};
  openrtb::Document markup_{kMaxValues};

  static constexpr size_t kMaxValues = 4096;
};

}  // namespace spillway::exchange::clearing
