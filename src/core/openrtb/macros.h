#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spillway::openrtb {

/// Values of the substitution macros of OpenRTB 2.6 section 4.4. Absent ones become "".
struct MacroValues {
  std::string_view auction_id{};
  std::string_view bid_id{};
  std::string_view imp_id{};
  std::string_view seat_id{};
  std::string_view ad_id{};
  std::string_view price{};  ///< Plain decimal in the bid's own currency.
  std::string_view currency{};
  std::string_view mbr{};  ///< Clearing price over bid price.
  std::string_view loss{};
  std::string_view min_to_win{};
  std::string_view multiplier{};
  std::string_view imp_ts{};  ///< Milliseconds since the epoch.
  std::string_view discount_pct{};
  std::string_view discount_cpm{};
};

/// Where the text stands: values that enter a URL's query are percent-encoded; in markup a macro
/// inside a URL (found by looking back to the nearest white space or quote for "://" and "?") is
/// encoded too, elsewhere it is put in as it is.
enum class MacroContext : uint8_t { kUrl, kMarkup };

/// Appends `text` with every known macro replaced, in a single pass: a value that looks like a
/// macro is not expanded again. `${NAME:B64}` is the value in base64; an unknown name or encoding
/// stays as it is; a known name without a value becomes "". Percent-encoded macro names are left.
/// Cost: linear in the text. Source: OpenRTB 2.6 section 4.4.
void append_expanded(std::string& out, std::string_view text, const MacroValues& values,
                     MacroContext context);

/// The same for the raw bytes of a JSON string (between its quotes): the result is valid inside a
/// JSON string again.
void append_expanded_json(std::string& out, std::string_view raw, const MacroValues& values,
                          MacroContext context);

/// RFC 3986: all but its unreserved characters as %XX.
[[nodiscard]] std::string percent_encoded(std::string_view bytes);

}  // namespace spillway::openrtb
