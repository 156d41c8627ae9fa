#include <string_view>

#include "app/command_line.h"
#include "app/load/commands.h"

int main(int argc, char** argv) {
  using spillway::app::run_capacity;
  using spillway::app::run_compare;
  using spillway::app::run_load;
  using spillway::app::run_program;
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word == "compare") {
    return run_program(run_compare, argc - 1, argv + 1);
  }
  if (word == "capacity") {
    return run_program(run_capacity, argc - 1, argv + 1);
  }
  return run_program(run_load, argc, argv);
}
