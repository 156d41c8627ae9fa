#pragma once

#include <string>

#include "app/config/reader.h"
#include "exchange/notices.h"
#include "exchange/snapshot.h"

namespace spillway::app {

/// How DSPs are told of their bids: docs/notices.md.
struct NoticeConfig {
  exchange::NoticeLimits limits;
  bool allow_private = false;  ///< Notice hosts may be in private networks and on loopback.
  std::string instance = "1";
};

/// Reads the section `notices`; `events` is what answers need of it.
void read_notices(ConfigReader reader, NoticeConfig& out, exchange::EventUrls& events);

}  // namespace spillway::app
