#pragma once

namespace spillway::app {

/// Whether this processor has what the parts were compiled for. Compiled for any x86-64, like all
/// of this folder: it runs on a processor that the parts would crash on.
[[nodiscard]] bool processor_fits();

/// What is wrong when it does not, and what to do; one line with its newline.
[[nodiscard]] const char* processor_refusal();

}  // namespace spillway::app
