#include "openrtb/macros.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "openrtb/document.h"

namespace spillway::openrtb {

namespace {

constexpr std::string_view kOpen = "${";

struct Macro {
  std::string_view name;
  std::string_view MacroValues::* value;
};

constexpr std::array kMacros{
    Macro{.name = "AUCTION_ID", .value = &MacroValues::auction_id},
    Macro{.name = "AUCTION_BID_ID", .value = &MacroValues::bid_id},
    Macro{.name = "AUCTION_IMP_ID", .value = &MacroValues::imp_id},
    Macro{.name = "AUCTION_SEAT_ID", .value = &MacroValues::seat_id},
    Macro{.name = "AUCTION_AD_ID", .value = &MacroValues::ad_id},
    Macro{.name = "AUCTION_PRICE", .value = &MacroValues::price},
    Macro{.name = "AUCTION_CURRENCY", .value = &MacroValues::currency},
    Macro{.name = "AUCTION_MBR", .value = &MacroValues::mbr},
    Macro{.name = "AUCTION_LOSS", .value = &MacroValues::loss},
    Macro{.name = "AUCTION_MIN_TO_WIN", .value = &MacroValues::min_to_win},
    Macro{.name = "AUCTION_MULTIPLIER", .value = &MacroValues::multiplier},
    Macro{.name = "AUCTION_IMP_TS", .value = &MacroValues::imp_ts},
    Macro{.name = "AUCTION_DISCOUNT_PCT", .value = &MacroValues::discount_pct},
    Macro{.name = "AUCTION_DISCOUNT_CPM", .value = &MacroValues::discount_cpm},
};

/// A macro found at the head of a text.
struct Match {
  std::string_view value;
  bool base64 = false;
  size_t length = 0;  ///< "${" and "}" included.
};

std::optional<Match> match(std::string_view text, const MacroValues& values) {
  constexpr size_t kLongest = 40;
  const size_t close = text.substr(0, kLongest).find('}');
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view name = text.substr(kOpen.size(), close - kOpen.size());
  constexpr std::string_view kBase64 = ":B64";
  const bool base64 = name.ends_with(kBase64);
  name.remove_suffix(base64 ? kBase64.size() : 0);
  const auto* const found = std::ranges::find(kMacros, name, &Macro::name);
  if (found == kMacros.end()) {
    return std::nullopt;
  }
  return Match{.value = values.*found->value, .base64 = base64, .length = close + 1};
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t j = 0; j < 3; ++j) {
      word = word << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += i + j > bytes.size() ? '=' : kLetters[(word >> (18 - 6 * j)) & 63];
    }
  }
  return out;
}

void append_json_escaped(std::string& out, std::string_view value) {
  std::string literal;
  append_json_string(literal, value);
  out.append(literal, 1, literal.size() - 2);
}

enum class Form : uint8_t { kPlain, kJson };

struct Target {
  MacroContext context;
  Form form;
};

/// Whether the text read so far ends inside the query of a URL. Fed piece by piece, it looks at
/// every byte once, however many macros there are.
class UrlTracker {
 public:
  explicit UrlTracker(Target target)
      : target_(target), url_(target.context == MacroContext::kUrl) {}

  /// Goes on over `piece`; answers for its end.
  bool in_query_after(std::string_view piece) {
    if (target_.context == MacroContext::kMarkup) {
      const size_t start = last_delimiter(piece);
      if (start != std::string_view::npos) {
        piece.remove_prefix(start + 1);
        url_ = piece.starts_with("//") ||
               (target_.form == Form::kJson && piece.starts_with(R"(\/\/)"));
        query_ = false;
      }
      url_ = url_ || piece.contains("://") ||
             (target_.form == Form::kJson && piece.contains(R"(:\/\/)"));
    }
    query_ = query_ || (url_ && piece.contains('?'));
    return query_;
  }

 private:
  /// The last byte of `piece` that no URL in markup contains. In raw JSON white space and quotes
  /// are escapes, but so may be "/" and "&", which are none.
  [[nodiscard]] size_t last_delimiter(std::string_view piece) const {
    constexpr std::string_view kPlainDelimiters = " \t\r\n\"'<>";
    constexpr std::string_view kJsonDelimiters = " '<>\\";
    const std::string_view set = target_.form == Form::kJson ? kJsonDelimiters : kPlainDelimiters;
    size_t at = piece.find_last_of(set);
    while (at != std::string_view::npos && piece[at] == '\\' &&
           (piece.substr(at).starts_with("\\/") || piece.substr(at).starts_with("\\u0026"))) {
      at = at == 0 ? std::string_view::npos : piece.find_last_of(set, at - 1);
    }
    return at;
  }

  Target target_;
  bool url_;
  bool query_ = false;
};

void expand(std::string& out, std::string_view text, const MacroValues& values, Target target) {
  UrlTracker url(target);
  size_t done = 0;
  for (size_t at = text.find(kOpen); at != std::string_view::npos; at = text.find(kOpen, at)) {
    const auto found = match(text.substr(at), values);
    if (!found) {
      at += kOpen.size();
      continue;
    }
    out.append(text.substr(done, at - done));
    std::string value = found->base64 ? base64_of(found->value) : std::string(found->value);
    if (url.in_query_after(text.substr(done, at - done))) {
      value = percent_encoded(value);
    }
    if (target.form == Form::kJson) {
      append_json_escaped(out, value);
    } else {
      out += value;
    }
    at += found->length;
    done = at;
  }
  out.append(text.substr(done));
}

}  // namespace

std::string percent_encoded(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kUnreserved = "-._~";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
        kUnreserved.contains(c)) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 0xf];
    }
  }
  return out;
}

void append_expanded(std::string& out, std::string_view text, const MacroValues& values,
                     MacroContext context) {
  expand(out, text, values, {.context = context, .form = Form::kPlain});
}

void append_expanded_json(std::string& out, std::string_view raw, const MacroValues& values,
                          MacroContext context) {
  expand(out, raw, values, {.context = context, .form = Form::kJson});
}

}  // namespace spillway::openrtb
