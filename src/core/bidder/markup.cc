#include "bidder/markup.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bidder/model.h"

namespace spillway::bidder {
namespace {

constexpr std::string_view kOpen = "${";

void append_number(std::string& out, int64_t value) {
  std::array<char, 24> digits{};
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

template <typename Stays>
void append_percent_encoded(std::string& out, std::string_view text, Stays stays) {
  for (;;) {
    const auto plain = static_cast<size_t>(std::ranges::find_if_not(text, stays) - text.begin());
    out += text.substr(0, plain);  // Mostly all of it.
    if (plain == text.size()) {
      return;
    }
    const auto byte = static_cast<unsigned char>(text[plain]);
    out += '%';
    out += "0123456789ABCDEF"[byte >> 4];
    out += "0123456789ABCDEF"[byte & 0xf];
    text.remove_prefix(plain + 1);
  }
}

void append_click(std::string& out, std::string_view url) {
  append_percent_encoded(out, url, [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '"' && c != '\'' && c != '<' && c != '>' &&
           c != ']' && c != '\x7f';
  });
}

/// Appends what a macro of ours stands for; false when it is none of them.
bool append_value(std::string& out, std::string_view name, const Creative& creative,
                  const MarkupValues& values) {
  if (name == "CLICK_URL") {
    append_click(out, creative.click_url);
  } else if (name == "CLICK_URL_ENC") {
    append_percent_encoded(out, creative.click_url, is_unreserved);
  } else if (name == "CAMPAIGN_ID") {
    append_number(out, values.campaign);
  } else if (name == "LINE_ITEM_ID") {
    append_number(out, values.line_item);
  } else if (name == "CREATIVE_ID") {
    append_number(out, creative.id);
  } else if (name == "BID_ID") {
    out += values.bid_id;
  } else {
    return false;
  }
  return true;
}

void append_expanded(std::string& out, std::string_view text, const Creative& creative,
                     const MarkupValues& values) {
  for (size_t at = text.find(kOpen); at != std::string_view::npos; at = text.find(kOpen)) {
    out += text.substr(0, at);
    text.remove_prefix(at);
    const size_t close = text.find('}');
    const bool known =
        close != std::string_view::npos &&
        append_value(out, text.substr(kOpen.size(), close - kOpen.size()), creative, values);
    out += known ? std::string_view{} : kOpen;
    text.remove_prefix(known ? close + 1 : kOpen.size());
  }
  out += text;
}

bool is_media_file(const Creative& creative) {
  return (creative.media == Media::kVideo || creative.media == Media::kAudio) &&
         (creative.markup.starts_with("https://") || creative.markup.starts_with("http://"));
}

// Of OpenRTB's list of creative subtypes: 2, 3 and 7 are VAST 2.0, 3.0 and 4.0.
std::string_view vast_version(const Creative& creative) {
  const auto has = [&](uint16_t protocol) {
    return std::ranges::find(creative.protocols, protocol) != creative.protocols.end();
  };
  if (has(3) || creative.protocols.empty()) {
    return "3.0";
  }
  return has(7) ? "4.0" : "2.0";
}

void append_two_digits(std::string& out, unsigned value) {
  out += static_cast<char>('0' + value / 10 % 10);
  out += static_cast<char>('0' + value % 10);
}

void append_clock(std::string& out, unsigned seconds) {
  append_two_digits(out, seconds / 3600);
  out += ':';
  append_two_digits(out, seconds / 60 % 60);
  out += ':';
  append_two_digits(out, seconds % 60);
}

void append_vast(std::string& out, const Creative& creative, const MarkupValues& values) {
  out += R"(<VAST version=")";
  out += vast_version(creative);
  out += R"("><Ad id=")";
  append_number(out, creative.id);
  out += R"("><InLine><AdSystem>Spillway</AdSystem><AdTitle>)";
  append_number(out, values.campaign);
  out += "</AdTitle><Impression></Impression><Creatives><Creative><Linear><Duration>";
  append_clock(out, creative.duration_s);
  out += "</Duration>";
  if (!creative.click_url.empty()) {
    out += "<VideoClicks><ClickThrough><![CDATA[";
    append_click(out, creative.click_url);
    out += "]]></ClickThrough></VideoClicks>";
  }
  out += R"(<MediaFiles><MediaFile delivery="progressive" type=")";
  out += creative.mime;
  out += R"(" width=")";
  append_number(out, creative.w);
  out += R"(" height=")";
  append_number(out, creative.h);
  out += R"("><![CDATA[)";
  append_click(out, creative.markup);
  out += "]]></MediaFile></MediaFiles></Linear></Creative></Creatives></InLine></Ad></VAST>";
}

}  // namespace

void append_markup(std::string& out, const Creative& creative, const MarkupValues& values) {
  if (is_media_file(creative)) {
    append_vast(out, creative, values);
  } else {
    append_expanded(out, creative.markup, creative, values);
  }
}

}  // namespace spillway::bidder
