#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "openrtb/document.h"

namespace spillway::openrtb {

/// What is wrong with a request, named by path, as the caller is told.
struct FieldError {
  std::string path;  ///< "imp[0].banner.w"; "" for the body as a whole.
  std::string what;  ///< "must not be negative"
};

/// Rules that an operator may switch: class "P" of the notes' table, off by default, and the
/// choices that are policy.
struct RequestPolicy {
  bool require_inventory = false;  ///< One of site, app, dooh must be there.
  bool require_site_id_or_page = false;
  bool require_banner_size = false;      ///< w and h, or format, unless instl.
  bool refuse_banner_2_4_sizes = false;  ///< wmin, wmax, hmin, hmax.
  bool check_native = false;             ///< native.request by its own specification.
  bool refuse_metric = false;
  size_t imps_kept = 40;   ///< Further ones are dropped with a warning.
  size_t imps_max = 1000;  ///< More are refused.
};

enum class MediaType : uint8_t { kBanner = 1, kVideo = 2, kAudio = 4, kNative = 8 };

/// One size of a banner or a video.
struct Size {
  int32_t w = 0;
  int32_t h = 0;
  auto operator<=>(const Size&) const = default;
};

/// One deal of an imp's pmp: the terms its bids are judged and cleared by.
struct Deal {
  std::string id = {};  ///< Decoded.
  base::Cpm floor = {};
  base::Currency floor_currency = {};
  bool floor_given = false;  ///< bidfloor is there, be it 0; else the imp's floor applies.
  int at = 0;                ///< 1, 2, 3 (the floor is the price); 0: the auction's.
  std::vector<std::string> wseat = {};     ///< Seats that may bid on it; empty: all.
  std::vector<std::string> wadomain = {};  ///< Lower case, no leading "www."; empty: all.
};

/// One imp as routing and clearing need it.
struct Imp {
  NodeId node = kAbsent;
  std::string id;                   ///< Decoded.
  uint8_t media = 0;                ///< Set of MediaType.
  std::vector<Size> sizes;          ///< Banner: w/h and format. Flexible ratios are not in here.
  std::vector<Size> ratios;         ///< format wratio:hratio.
  std::vector<int32_t> ratio_wmin;  ///< Beside `ratios`.
  Size video_size;                  ///< 0x0 when absent.
  base::Cpm floor;
  base::Currency floor_currency;
  bool secure = false;
  bool instl = false;
  std::vector<int32_t> battr;  ///< Of banner, video, audio and native together.
  std::vector<Deal> deals;
  bool private_auction = false;
};

/// A valid request, read once. Strings are decoded copies; nodes index the document it came from.
struct RequestView {
  std::string id;
  NodeId imp_array = kAbsent;
  std::vector<Imp> imps;  ///< Kept ones, in order.
  size_t imps_dropped = 0;
  base::Duration tmax{};  ///< Zero when absent or 0.
  int at = 0;             ///< 0 when absent or 0; 1, 2.
  bool test = false;
  bool debug = false;                      ///< ext.debug or ext.prebid.debug true or 1.
  std::vector<base::Currency> currencies;  ///< request.cur, USD alone when absent or empty.
  bool currencies_given = false;           ///< request.cur names one.
  std::vector<std::string> badv;           ///< Lower case, no leading "www.".
  std::vector<std::string> bcat, acat;
  int64_t cattax = 1;
  std::vector<std::string> wseat, bseat;
  enum class Inventory : uint8_t { kNone, kSite, kApp, kDooh };
  Inventory inventory = Inventory::kNone;
  std::string publisher_id;
  std::string country;  ///< device.geo.country, else user.geo.country; as sent, upper case.
  std::vector<std::string> warnings;

  /// Imps of earlier requests, kept for their memory.
  std::vector<Imp> spare_imps;

  /// Empties it, keeping memory where it can.
  void clear();
};

/// Checks a walked request and fills `out`. tmax: a fraction is floored; 0 and absent are zero;
/// negative or not a number is an error. at: 0 is absent; other than 1 and 2 is an error.
/// Negative floors are errors. `cur` is folded to upper case; only unknown codes is an error.
/// Types and ranges are checked first, in document order, then the rules that need more than one
/// member; the first error is returned, and `out` then means nothing. Memory of `out` is reused.
[[nodiscard]] base::Result<void, FieldError> read_request(const Document& document,
                                                          const RequestPolicy& policy,
                                                          RequestView& out);

/// The same checks for who reads the request himself: of `out` it fills id, tmax, at, test, debug,
/// currencies, inventory and publisher_id, and the imps without their deals. After a warm-up it
/// allocates nothing, whatever lists and deals the requests hold, but for errors and for imps
/// beyond those kept.
[[nodiscard]] base::Result<void, FieldError> check_request(const Document& document,
                                                           const RequestPolicy& policy,
                                                           RequestView& out);

/// The refusal of a body that `document` could not walk.
[[nodiscard]] FieldError field_error(const Document& document, WalkErrc error);

/// {"error":{"field":"imp[0].banner.w","what":"..."}}
[[nodiscard]] std::string error_json(const FieldError& error);

/// A currency code from a string node, folded to upper case; nullopt when it is no known code.
[[nodiscard]] std::optional<base::Currency> currency_of(const Document& document, NodeId id);

/// Whether three letters are an ISO 4217 code of a currency in use.
[[nodiscard]] bool known_currency(const base::Currency& currency);

}  // namespace spillway::openrtb
