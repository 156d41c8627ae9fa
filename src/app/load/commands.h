#pragma once

namespace spillway::app {

/// `spillway load ...`: one run. Exit status 0: passed; 1: it failed its schedule or its gates;
/// 2: wrong usage, or a run that cannot be carried.
int run_load(int argc, char** argv);

/// `spillway load compare A B`. 0: b is no worse; 1: it is; 2: wrong usage or no reports.
int run_compare(int argc, char** argv);

/// `spillway load capacity ...`. 0: found; 1: no rate was held; 2: wrong usage.
int run_capacity(int argc, char** argv);

}  // namespace spillway::app
