#pragma once

#include <memory>
#include <span>
#include <string>

#include "openrtb/document.h"
#include "openrtb/path_edits.h"

namespace spillway::exchange {

/// Header lines, each ended by CRLF, shared by an auction's notices; null for none.
using DeviceLines = std::shared_ptr<const std::string>;

/// What a billing notice says of the user's device, so that its receiver can tell people from
/// machines: X-Device-IP and X-Forwarded-For (device.ip, else ipv6), X-Device-User-Agent. `fill` is
/// what stands in for what the request leaves out. What is no address, or no User-Agent by
/// is_user_agent(), is left out: nothing here can break out of its line. At most 1 200 bytes.
///
/// They name a person: only for a DSP that was sent the request's ids.
/// Source: OpenRTB 2.6, implementation guidance on billing notices sent by a server.
[[nodiscard]] DeviceLines device_lines(const openrtb::Document& document,
                                       std::span<const openrtb::PathEdit> fill);

}  // namespace spillway::exchange
