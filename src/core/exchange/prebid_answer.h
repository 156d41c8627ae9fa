#pragma once

#include <string>
#include <string_view>

#include "exchange/clearing/bid.h"
#include "exchange/conclusion.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"

namespace spillway::exchange {

/// Appends `"nurl":"…","burl":"…",` for a winning bid: signed URLs of ours, by which the caller
/// reports what becomes of it. Nothing without Snapshot::events or with test=1. To pages the nurl
/// goes with banners alone, whose adapters make a pixel of it: beside video they take it for the
/// ad. Prebid.js's server adapter gets none, see append_prebid_members.
void append_event_urls(std::string& out, const Conclusion& end, const clearing::Bid& bid);

/// Whether append_prebid_members writes this member of the bid anew.
[[nodiscard]] bool is_prebid_member(const Conclusion& end, const clearing::Bid& bid,
                                    openrtb::NodeId member);

/// Appends what Prebid.js's server adapter needs beside OpenRTB, each member with a comma behind
/// it: ext.prebid.type, the win's event URL in ext.prebid.events, and what it drops a bid for the
/// lack of: a crid (the bid's id) and a banner's w and h (the imp's first). The rest of the bid's
/// ext stays, but for an ext.prebid of the DSP's, which could name other events.
/// Source: Prebid.js, libraries/pbsExtensions; measured by tests/browser.
void append_prebid_members(std::string& out, const Conclusion& end, const clearing::Bid& bid);

/// banner, video, audio, native.
[[nodiscard]] std::string_view prebid_type_of(openrtb::MediaType media);

}  // namespace spillway::exchange
