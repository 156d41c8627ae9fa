#pragma once

#include <cstddef>
#include <string>

#include "exchange/conclusion.h"

namespace spillway::exchange {

/// What of one body is shown, and of all together.
inline constexpr size_t kShownBodyBytes = size_t{16} * 1024;
inline constexpr size_t kShownBytes = size_t{256} * 1024;

/// Appends what the DSPs of an ended auction were sent and answered until its end, for whoever sets
/// up an account (Account::shows_calls):
///
///   ,"responsetimemillis":{"<dsp>":12},
///   "debug":{"httpcalls":{"<dsp>":[{"uri","requestheaders","requestbody","status","responsebody",
///                                   "time_ms","error","cut"}]}}
///
/// Values of a URL's query are secrets and not shown, nor are a bid's nurl, burl and lurl, which
/// never leave the exchange. Of bodies the first kShownBodyBytes are shown, in order of DSP until
/// kShownBytes are; `cut` says that something is missing. `error` is there when the call failed.
/// Cost: a copy of what is shown. Source: prebid-server's ext.debug.
void append_debug_calls(std::string& out, const Conclusion& end);

}  // namespace spillway::exchange
