#pragma once

#include <string>
#include <vector>

#include "app/config/reader.h"

namespace spillway::app {

/// How a command says that it cannot go on: `problem` on a line of the standard error, or, for
/// those who asked for JSON and read the standard output, {"error": problem} there. Returns
/// `status`.
int complain(const std::string& problem, bool json, int status);

/// The same of a configuration, all that is wrong with it: a sentence a line, or one JSON object
/// with key, line and sentence of each. The exit status for it.
int report_problems(const std::vector<ConfigProblem>& problems, const std::string& path, bool json);

}  // namespace spillway::app
