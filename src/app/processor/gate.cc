// Linked into every part: ends the program before anything compiled for the newer processor runs.
// The first line of main would be too late, since constructors of static objects run before it.
#include <cstring>

#include <unistd.h>

#include "app/processor/processor.h"

namespace spillway::app {
namespace {

constexpr int kCannotRun = 1;

// The loader calls it before all constructors, those of shared libraries too: nothing but plain
// system calls works yet.
void refuse_old_processor(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  if (!processor_fits()) {
    const auto written =
        ::write(STDERR_FILENO, processor_refusal(), std::strlen(processor_refusal()));
    ::_exit(written < 0 ? kCannotRun + 1 : kCannotRun);
  }
}

using Initializer = void (*)(int, char**, char**);

[[gnu::used, gnu::section(".preinit_array")]] const Initializer gate = &refuse_old_processor;

}  // namespace
}  // namespace spillway::app
