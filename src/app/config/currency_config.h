#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config/reader.h"
#include "base/time.h"
#include "exchange/clearing/rates.h"

namespace spillway::app {

/// A configuration's text, and the rates file it was read with when it comes out of an auction log.
struct ConfigText {
  std::string_view settings;
  std::string_view rates;  ///< "" when it carries none.
};

/// Parts what join_rates joined. Text of a file a person wrote is all settings.
[[nodiscard]] ConfigText part_rates(std::string_view text);

/// One text of both, so that what an auction log keeps is the whole of what decided; the settings
/// alone when there are no rates.
[[nodiscard]] std::string join_rates(const ConfigText& parts);

/// Reads the section `currency`. The file it names is read (at most 64 KiB), unless `recorded` has
/// its bytes already: then the file is not looked at. Fills `out`, which stays empty without a
/// file. Returns the bytes of the rates.
[[nodiscard]] std::string read_currency(ConfigReader reader, std::string_view recorded,
                                        exchange::clearing::Rates& out);

/// A rates file: a mapping (YAML or JSON) of `base`, `as_of` ("2026-11-30" or
/// "2026-11-30T14:00:00Z") and `rates`, what one unit of the base is in each currency.
[[nodiscard]] exchange::clearing::Rates read_rates(std::string_view text,
                                                   base::Duration stale_after,
                                                   std::vector<ConfigProblem>& problems);

}  // namespace spillway::app
