#include "app/trace/limiter_trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/reader.h"
#include "app/trace/tracer.h"
#include "base/result.h"
#include "base/time.h"
#include "resilience/limiter.h"
#include "resilience/limiter_window.h"

namespace spillway::app {
namespace {

using base::Duration;
using base::Instant;
using namespace std::chrono_literals;
using resilience::LimiterSettings;
using resilience::LimiterWindow;

class LimiterTrace : public Tracer {
 public:
  explicit LimiterTrace(const LimiterSettings& settings)
      : netflix_(settings.netflix), limiter_(resilience::make_limiter(settings)) {}

  base::Result<std::string, std::string> line(std::string_view text) override {
    const auto fields = fields_of(text);
    if (fields.size() != 4) {
      return std::unexpected("must be \"t_ms rtt_ns inflight dropped\"");
    }
    const auto at = parse_trace_ms("t_ms", fields[0]);
    const auto rtt = parse_trace_integer<int64_t>("rtt_ns", fields[1], 0, 1'000'000'000'000);
    const auto in_flight = parse_trace_integer<uint32_t>("inflight", fields[2], 0, 1'000'000'000);
    const auto dropped = parse_trace_integer<uint32_t>("dropped", fields[3], 0, 1);
    for (const auto* error :
         {at ? nullptr : &at.error(), rtt ? nullptr : &rtt.error(),
          in_flight ? nullptr : &in_flight.error(), dropped ? nullptr : &dropped.error()}) {
      if (error != nullptr) {
        return std::unexpected(*error);
      }
    }
    observe(Instant(*at), Duration(*rtt), *in_flight, *dropped == 1);
    return std::to_string(limiter_->limit());
  }

 private:
  void observe(Instant at, Duration rtt, uint32_t in_flight, bool dropped) {
    if (netflix_) {
      limiter_->observe(LimiterWindow::of_call(at, rtt, in_flight, dropped));
      return;
    }
    now_ = std::max(now_, at);
    window_.add_call(rtt, in_flight, limiter_->uncongested_most(), dropped);
    if (const auto window = window_.close(now_)) {
      limiter_->observe(*window);
    }
  }

  const bool netflix_;
  std::unique_ptr<resilience::Limiter> limiter_;
  Instant now_{};
  resilience::LimiterWindowBuilder window_{Instant{}};
};

}  // namespace

std::unique_ptr<Tracer> make_limiter_trace(std::string_view yaml,
                                           std::vector<ConfigProblem>& problems) {
  const size_t before = problems.size();
  ConfigReader reader(yaml, problems);
  size_t algorithm = 0;
  reader.read_choice("algorithm", {"latency", "vegas", "gradient2", "aimd"}, algorithm);
  size_t mode = 0;
  reader.read_choice("mode", {"spillway", "netflix"}, mode);
  LimiterSettings settings;
  settings.algorithm = static_cast<LimiterSettings::Algorithm>(algorithm + 1);
  settings.netflix = mode == 1;
  if (settings.netflix) {
    const bool vegas = settings.algorithm == LimiterSettings::Algorithm::kVegas;
    settings.max = vegas ? 1'000 : 200;
    settings.initial = 20;
  }
  reader.read("max", settings.max, 1, 1'000'000);
  reader.read("initial", settings.initial, settings.netflix ? 1 : 0, settings.max);
  reader.read("min", settings.min, 1, settings.max);
  reader.read("harmless", settings.harmless, 0ms, 60s);
  reader.read("max_healthy", settings.max_healthy, 1ms, 60s);
  if (reader.has("vegas")) {
    ConfigReader vegas = reader.section("vegas");
    vegas.read("probe_jitter", settings.probe_jitter, 0.0, 1.0);
    vegas.finish();
  } else {
    reader.read("vegas.probe_jitter", settings.probe_jitter, 0.0, 1.0);
  }
  if (settings.netflix && algorithm == 0) {
    reader.problem("mode", "netflix has vegas, gradient2 and aimd, not latency");
  }
  reader.finish();
  return problems.size() == before ? std::make_unique<LimiterTrace>(settings) : nullptr;
}

}  // namespace spillway::app
