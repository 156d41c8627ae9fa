#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "app/config/reader.h"
#include "app/trace/tracer.h"

namespace spillway::app {

/// `spillway trace limiter`: lines `t_ms rtt_ns inflight dropped(0|1)`, each answered by the whole
/// limit after that call. With `mode: netflix` the formulas see every call; else calls are gathered
/// into the windows the guard uses, by trace time.
[[nodiscard]] std::unique_ptr<Tracer> make_limiter_trace(std::string_view yaml,
                                                         std::vector<ConfigProblem>& problems);

}  // namespace spillway::app
