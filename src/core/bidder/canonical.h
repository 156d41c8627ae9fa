#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bidder/model.h"

namespace spillway::bidder {

/// The one spelling in which the values of a dimension meet, whether a catalog or a request says
/// them, written to `out` (which is emptied first): countries alpha-2 upper case; regions upper
/// case without the country; zips upper case without blanks; operating systems, domains (no "www.",
/// no last dot), languages (first subtag) and media lower case; categories upper case; device
/// types, positions and sizes as plain numbers; the rest as it comes. False, and `out` empty, for
/// what is no value of the dimension: an unknown country, an empty text, position 0 ("unknown").
bool canonical(Dimension dimension, std::string_view text, std::string& out);

/// A domain in its one spelling: lower case, without "www.", a last dot or a port.
bool canonical_domain(std::string_view text, std::string& out);

/// The host of an http or https address, as in `canonical_domain`.
bool domain_of_url(std::string_view url, std::string& out);

/// The alpha-2 code of a country by its alpha-2 or alpha-3 code, any case; "" when there is none.
/// Source: ISO 3166-1.
[[nodiscard]] std::string_view country_alpha2(std::string_view code);

/// The next domain above ("b.example" of "a.b.example"); "" for none.
[[nodiscard]] std::string_view parent_domain(std::string_view domain);

/// The category above ("IAB7" of "IAB7-39"); "" for none.
[[nodiscard]] std::string_view parent_category(std::string_view category);

/// Whether a category in its one spelling is one of the IAB's Content Taxonomy 1.0, the one that
/// has letters: "IAB7" or "IAB7-39", tier one from 1 to 26.
[[nodiscard]] bool is_iab_category(std::string_view category);

/// The taxonomy (AdCOM 1.0, List: Category Taxonomies) of an advertiser's category: the 7 of
/// "7:483", 1 without a number before a colon; 0 when that is none from 2 to 1,000,000 in its
/// shortest spelling, or nothing stands behind it.
[[nodiscard]] int64_t taxonomy_of(std::string_view category);

/// Name of a dimension as catalogs and problems spell it: "device_type".
[[nodiscard]] std::string_view to_string(Dimension dimension);

}  // namespace spillway::bidder
