#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bidder/model.h"

namespace spillway::bidder {

/// What the macros of our own in a creative's markup stand for.
struct MarkupValues {
  int64_t campaign = 0;
  int64_t line_item = 0;
  std::string_view bid_id{};
};

/// Appends a creative's markup as it is sent: `${CLICK_URL}`, `${CLICK_URL_ENC}` (percent-encoded),
/// `${CAMPAIGN_ID}`, `${LINE_ITEM_ID}`, `${CREATIVE_ID}` and `${BID_ID}` replaced in a single pass;
/// all other macros are the exchange's and stay. Of a click address, what would end an attribute or
/// a CDATA section is percent-encoded.
///
/// Markup of video and audio that is an http or https address is a media file: it becomes a VAST
/// document of one linear creative, version 4.0 or 2.0 where the creative's protocols have no 3.0.
///
/// No allocation but `out`'s own. Cost: linear.
/// Source: VAST 3.0, section 2.3.
void append_markup(std::string& out, const Creative& creative, const MarkupValues& values);

}  // namespace spillway::bidder
