#include "app/demo/demo_plan.h"

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace spillway::app {

std::string DemoPlan::guard_times() const {
  return shortened() ? "open 2-4 s, ramp 6 s" : "open 5-20 s, ramp 30 s";
}

std::string DemoPlan::farm_yaml() {
  return R"(admin: { listen: 127.0.0.1:0 }
dsps:
  - { name: alpha, bid_rate: 0.35, latency: { kind: lognormal, median: 20ms, sigma: 0.4 } }
  - { name: bravo, bid_rate: 0.25, latency: { kind: lognormal, median: 40ms, sigma: 0.3 } }
  - { name: charlie, bid_rate: 0.2, nobid: nbr, latency: { kind: lognormal, median: 30ms, sigma: 0.4 } }
  - { name: delta, bid_rate: 0.5, price: { kind: uniform, low: 1, high: 6 },
      latency: { kind: lognormal, median: 25ms, sigma: 0.4 } }
  - { name: echo, bid_rate: 0.1, nobid: seatbid, latency: { kind: pareto, min: 8ms, alpha: 2.5, cap: 80ms } }
)";
}

std::string DemoPlan::fault_json() const {
  return fmt::format(
      R"({{"kind":"slow","for":"{}ms","latency":{{"kind":"lognormal","median":"600ms","sigma":0.2}}}})",
      static_cast<int>(1000 * (slow_to() - slow_from())));
}

std::string DemoPlan::exchange_yaml(const std::vector<DspAddress>& dsps) const {
  std::string out = "exchange: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\n";
  if (shortened()) {
    out += "guards: { open_min: 2s, open_max: 4s, ramp: 6s }\n";
  }
  // Everything shares this machine: a longer margin than the default bears its scheduling.
  out += "accounts:\n  - { response_margin: 12ms }\ndsps:\n";
  for (const auto& dsp : dsps) {
    out += fmt::format("  - {{ name: {}, endpoint: \"http://{}/bid\" }}\n", dsp.name, dsp.listen);
  }
  out += "house_ads:\n";
  for (const char* size : {"300x250", "728x90", "320x50", "160x600", "970x250", "300x600"}) {
    const std::string text = size;
    const size_t x = text.find('x');
    out += fmt::format(
        "  - {{ type: banner, w: {}, h: {}, adm: \"<a href=https://house.example><img "
        "src=https://house.example/{}.png></a>\", adomain: [house.example] }}\n",
        text.substr(0, x), text.substr(x + 1), text);
  }
  out +=
      "  - { type: video, adm: \"<VAST version='4.0'><Ad id='h'></Ad></VAST>\", "
      "adomain: [house.example] }\n";
  return out;
}

}  // namespace spillway::app
