#pragma once

#include <array>
#include <cstdint>

#include "app/exchange/notice_desk.h"
#include "observe/metrics_page.h"

namespace spillway::app {

/// `events_refused`: by openrtb::EventErrc, over all workers. On the desk's thread.
void write_notices(const NoticeDesk& desk, const std::array<uint64_t, 3>& events_refused,
                   observe::MetricsPage& page);

}  // namespace spillway::app
