#include <gtest/gtest.h>

#include "resilience/proof.h"

namespace spillway::resilience {

void (*proof::before_step)() = nullptr;

}  // namespace spillway::resilience
