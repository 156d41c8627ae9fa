#include "base/assert.h"

#include <cassert>

namespace spillway::base {

void assertion_failed(const char* condition, const char* file, int line) {
  __assert_fail(condition, file, static_cast<unsigned>(line), "spillway");
}

}  // namespace spillway::base
