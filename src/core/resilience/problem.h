#pragma once

#include <string>

namespace spillway::resilience {

/// One broken rule: the key (without the place it stands in), and a sentence with value and rule.
struct Problem {
  std::string key;
  std::string what;
};

}  // namespace spillway::resilience
