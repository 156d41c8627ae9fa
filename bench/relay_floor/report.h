#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace spillway::relay_floor {

/// Measured of one server, over all its runs.
struct Side {
  std::vector<double> cpu_us;  ///< Of an auction, one a round.
  double asks = 0;             ///< Of an auction, the last round's, like what follows.
  double ask_bytes = 0;
  double answer_bytes = 0;
  double instructions = 0;                 ///< Of an auction in user mode; 0 when not measured.
  std::map<std::string, double> syscalls;  ///< Of an auction, by name; empty when not measured.
};

struct Row {
  size_t fanout = 0;
  Side relay;
  Side exchange;
  std::vector<Side> beside;
};

/// Whether the exchange's median ratio to the relay is within the bar of its fan-out, if there is
/// one.
[[nodiscard]] bool held(const Row& row);

/// A table for people, to standard output.
void print_table(const std::vector<Row>& rows);

/// One line for programs: `{"bench":"relay_floor","rows":[...]}`.
[[nodiscard]] std::string json(const std::vector<Row>& rows);

}  // namespace spillway::relay_floor
