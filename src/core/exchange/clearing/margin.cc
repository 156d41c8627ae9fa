#include "exchange/clearing/margin.h"

#include <cstdint>

#include "base/money.h"

namespace spillway::exchange::clearing {

namespace {

constexpr int64_t kWhole = 1'000'000;

}  // namespace

base::Cpm net_of(base::Cpm gross, uint32_t margin_ppm) {
  if (margin_ppm == 0) {
    return gross;
  }
  // In two parts: the product with the whole price might not fit.
  const int64_t kept = kWhole - margin_ppm;
  return base::Cpm{gross.micros / kWhole * kept + gross.micros % kWhole * kept / kWhole};
}

base::Cpm gross_of(base::Cpm net, uint32_t margin_ppm) {
  if (margin_ppm == 0) {
    return net;
  }
  const int64_t kept = kWhole - margin_ppm;
  const int64_t wholes = net.micros / kept;
  const int64_t rest = (net.micros % kept * kWhole + kept - 1) / kept;
  if (wholes > (INT64_MAX - rest) / kWhole) {
    return base::Cpm{INT64_MAX};
  }
  return base::Cpm{wholes * kWhole + rest};
}

}  // namespace spillway::exchange::clearing
