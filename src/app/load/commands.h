#pragma once

namespace spillway::app {

/// `spillway load ...`: one run. Exit status 0: passed; 1: it failed its schedule or its gates;
/// 2: wrong usage, or a run that cannot be carried.
int run_load(int argc, char** argv);

}  // namespace spillway::app
