#pragma once

#include "base/rates.h"

namespace spillway::exchange::clearing {

using base::Rates;

}  // namespace spillway::exchange::clearing
