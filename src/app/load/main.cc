#include "app/command_line.h"
#include "app/load/commands.h"

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::run_load, argc, argv);
}
