#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/reader.h"
#include "app/config/url.h"
#include "base/time.h"
#include "exchange/clearing/rates.h"
#include "exchange/snapshot.h"

namespace spillway::app {

/// A configuration's text, and the rates file it was read with when it comes out of an auction log.
struct ConfigText {
  std::string_view settings;
  std::string_view rates;  ///< "" when it carries none.
};

/// Where rates are fetched, beside the file; without a URL nowhere.
struct RateFeed {
  std::string url;
  HttpUrl place;        ///< The URL's.
  std::string ca_file;  ///< Who may sign its certificate; empty: the system's store.
  base::Duration refresh = std::chrono::minutes(30);

  bool operator==(const RateFeed& other) const {
    return url == other.url && ca_file == other.ca_file && refresh == other.refresh;
  }
};

/// The most that rates may be, as a file or as an answer.
inline constexpr size_t kRatesBytes = size_t{64} << 10;

/// Parts what join_rates joined. Text of a file a person wrote is all settings.
[[nodiscard]] ConfigText part_rates(std::string_view text);

/// One text of both, so that what an auction log keeps is the whole of what decided; the settings
/// alone when there are no rates.
[[nodiscard]] std::string join_rates(const ConfigText& parts);

/// Reads the section `currency`. The file it names is read (at most 64 KiB), unless `recorded` has
/// its bytes already: then the file is not looked at. Fills `out`, which stays empty without a
/// file. `feed` is where newer ones come from. Returns the bytes of the rates.
[[nodiscard]] std::string read_currency(ConfigReader reader, std::string_view recorded,
                                        exchange::clearing::Rates& out, RateFeed& feed);

/// Reads `bidfloor` and `bidfloorcur`, the operator's own floor.
void read_floor(ConfigReader& reader, exchange::Floor& out);

/// A rates file: a mapping (YAML or JSON) of `base`, `as_of` ("2026-11-30" or
/// "2026-11-30T14:00:00Z") and `rates`, what one unit of the base is in each currency.
[[nodiscard]] exchange::clearing::Rates read_rates(std::string_view text,
                                                   base::Duration stale_after,
                                                   std::vector<ConfigProblem>& problems);

}  // namespace spillway::app
