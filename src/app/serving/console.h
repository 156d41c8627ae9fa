#pragma once

#include <string>

namespace spillway::app {

/// Says on the standard output, at once, where a program serves; scripts wait for it. `listen` may
/// be empty: it serves operators alone.
void print_started(const std::string& listen, const std::string& admin, bool json);

}  // namespace spillway::app
