#include "openrtb/currency.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/money.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::openrtb {

namespace {

constexpr auto kCurrencies = std::to_array<std::string_view>(
    {"AED", "AFN", "ALL", "AMD", "ANG", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT",
     "BGN", "BHD", "BIF", "BMD", "BND", "BOB", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD",
     "CDF", "CHF", "CLP", "CNY", "COP", "CRC", "CUP", "CVE", "CZK", "DJF", "DKK", "DOP", "DZD",
     "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL", "GHS", "GIP", "GMD", "GNF", "GTQ",
     "GYD", "HKD", "HNL", "HTG", "HUF", "IDR", "ILS", "INR", "IQD", "IRR", "ISK", "JMD", "JOD",
     "JPY", "KES", "KGS", "KHR", "KMF", "KPW", "KRW", "KWD", "KYD", "KZT", "LAK", "LBP", "LKR",
     "LRD", "LSL", "LYD", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR",
     "MWK", "MXN", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "OMR", "PAB", "PEN",
     "PGK", "PHP", "PKR", "PLN", "PYG", "QAR", "RON", "RSD", "RUB", "RWF", "SAR", "SBD", "SCR",
     "SDG", "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB",
     "TJS", "TMT", "TND", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "UGX", "USD", "UYU", "UZS",
     "VES", "VND", "VUV", "WST", "XAF", "XCD", "XCG", "XOF", "XPF", "YER", "ZAR", "ZMW", "ZWG"});
static_assert(std::ranges::is_sorted(kCurrencies));

/// Three letters in one number, in the order of their text.
constexpr uint32_t packed(std::string_view code) {
  return static_cast<uint32_t>(static_cast<unsigned char>(code[0])) << 16 |
         static_cast<uint32_t>(static_cast<unsigned char>(code[1])) << 8 |
         static_cast<uint32_t>(static_cast<unsigned char>(code[2]));
}

constexpr auto kPacked = [] {
  std::array<uint32_t, kCurrencies.size()> all{};
  std::ranges::transform(kCurrencies, all.begin(), packed);
  return all;
}();

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::span<const std::string_view> currency_codes() { return kCurrencies; }

bool known_currency(const base::Currency& currency) {
  return std::ranges::binary_search(kPacked, packed(currency.view()));
}

std::optional<base::Currency> currency_of(const Document& document, NodeId id) {
  std::string_view text = document.raw_string(id);
  std::string decoded;
  if (text.contains('\\')) {
    decoded = document.string(id);
    text = decoded;
  }
  base::Currency currency;
  if (text.size() != currency.code.size()) {
    return std::nullopt;
  }
  std::ranges::transform(text, currency.code.begin(), upper);
  return known_currency(currency) ? std::optional(currency) : std::nullopt;
}

}  // namespace spillway::openrtb
