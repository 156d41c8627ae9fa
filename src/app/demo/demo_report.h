#pragma once

#include <string>

#include "app/demo/demo_plan.h"
#include "app/demo/demo_state.h"

namespace spillway::app {

/// What a run has shown: "" when no deadline was missed, the slow DSP's circuit opened while it was
/// slow, and closed again afterwards; else one sentence.
[[nodiscard]] std::string failure_of(const DemoPlan& plan, const DemoState& state);

/// The whole screen, without cursor movements; lines end with '\n'.
[[nodiscard]] std::string screen_text(const DemoPlan& plan, const DemoState& state);

/// One plain line of progress, for outputs that are no terminal.
[[nodiscard]] std::string progress_text(const DemoPlan& plan, const DemoState& state);

/// The one JSON object of an unattended run. `farm` is the farm's GET /admin/dsps body, put in as
/// it is; "null" when there is none.
[[nodiscard]] std::string summary_json(const DemoPlan& plan, const DemoState& state,
                                       const std::string& farm);

}  // namespace spillway::app
