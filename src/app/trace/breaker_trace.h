#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "app/config/reader.h"
#include "app/trace/tracer.h"

namespace spillway::app {

/// `spillway trace breaker`: lines `t_ms start id` and `t_ms end id outcome duration_ms`, answered
/// by the state after the event and, for a start, `admitted` or `refused`.
///
/// `rules: classic` runs a resilience::ClassicBreaker; `rules: spillway` (the default) a whole
/// resilience::Guard of one worker, ticked each 100 ms of trace time. The end of a call that was
/// refused changes nothing; an id may be used again once its call has ended.
[[nodiscard]] std::unique_ptr<Tracer> make_breaker_trace(std::string_view yaml,
                                                         std::vector<ConfigProblem>& problems);

}  // namespace spillway::app
