#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "app/config/reader.h"
#include "app/config/url.h"
#include "base/time.h"
#include "exchange/notices.h"
#include "exchange/snapshot.h"

namespace spillway::app {

/// How DSPs are told of their bids: docs/notices.md.
struct NoticeConfig {
  exchange::NoticeLimits limits;
  base::Duration stop_timeout = std::chrono::seconds(2);  ///< At a stop, once all else is done.
  bool allow_private = false;  ///< Notice hosts may be in private networks and on loopback.
  std::string ca_file;         ///< Who may sign https hosts' certificates; empty: the system's.
  std::string instance = "1";
  /// Where other instances take events, by name: what is not of this one is forwarded there.
  std::map<std::string, HttpUrl, std::less<>> instances;
};

/// Reads the section `notices`; `events` is what answers need of it.
void read_notices(ConfigReader reader, NoticeConfig& out, exchange::EventUrls& events);

}  // namespace spillway::app
