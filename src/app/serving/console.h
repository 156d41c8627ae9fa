#pragma once

#include <string>
#include <vector>

#include "app/config/reader.h"

namespace spillway::app {

/// Prints what is wrong with a configuration: a sentence a line on the standard error, or one JSON
/// object on the standard output. The exit status for it.
int report_problems(const std::vector<ConfigProblem>& problems, const std::string& path, bool json);

/// Says on the standard output, at once, where a program serves; scripts wait for it. `listen` may
/// be empty: it serves operators alone.
void print_started(const std::string& listen, const std::string& admin, bool json);

}  // namespace spillway::app
