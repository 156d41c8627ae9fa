#pragma once

#include <string>

namespace spillway::capacity {

/// One broken rule: the key of the setting, and a sentence with its value and the rule.
struct Problem {
  std::string key;
  std::string what;
};

}  // namespace spillway::capacity
