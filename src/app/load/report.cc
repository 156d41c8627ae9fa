#include "app/load/report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/load/generator.h"
#include "base/histogram.h"
#include "base/time.h"
#include "workload/tally.h"

namespace spillway::app {

namespace {

using workload::AnswerKind;
using workload::Ending;
using workload::Tally;

constexpr std::array<std::pair<std::string_view, double>, 6> kQuantiles = {
    {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1.0}}};

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double achieved_of(const Generator& generator) {
  // Over the schedule's length, not until the last answer: what was asked for per second.
  const base::Duration whole = generator.settings().arrivals.duration;
  const double asked =
      seconds_of(generator.schedule_over() ? whole : std::min(generator.elapsed(), whole));
  const Tally& tally = generator.tally();
  return asked <= 0 ? 0 : static_cast<double>(tally.ended() + generator.in_flight()) / asked;
}

std::string percentiles_text(const base::Histogram& latency) {
  std::string out;
  for (const auto& [name, ratio] : kQuantiles) {
    out += fmt::format("  {} {:.1f}", name, base::to_ms(latency.quantile(ratio)));
  }
  return out;
}

}  // namespace

std::string failure_of(const Generator& generator) {
  const Tally& tally = generator.tally();
  if (tally.missed_ratio() <= kMissedRatioMax) {
    return "";
  }
  return fmt::format(
      "{:.1f} % of the arrivals were late ({}) or dropped ({}): at most {:.0f} % may be",
      100 * tally.missed_ratio(), tally.late(), tally.dropped(), 100 * kMissedRatioMax);
}

std::string percentiles_json(const base::Histogram& latency) {
  std::string out = "{";
  for (const auto& [name, ratio] : kQuantiles) {
    out += fmt::format(R"({}"{}":{:.3f})", out.size() == 1 ? "" : ",", name,
                       base::to_ms(latency.quantile(ratio)));
  }
  return out + "}";
}

std::string report_json(const Generator& generator) {
  const Tally& tally = generator.tally();
  const std::string failure = failure_of(generator);
  std::string out = fmt::format(
      R"({{"dropped":{},"late":{},"missed_ratio":{:.6f},"failed":{},"why":"{}","offered":{},)"
      R"("ended":{},"in_flight":{},"elapsed_s":{:.3f},"rate_offered":{:.2f},"rate_achieved":{:.2f})",
      tally.dropped(), tally.late(), tally.missed_ratio(), !failure.empty(), failure,
      tally.offered(), tally.ended(), generator.in_flight(), seconds_of(generator.elapsed()),
      generator.settings().arrivals.rate, achieved_of(generator));
  out += R"(,"answers":{)";
  for (size_t i = 0; i < workload::kAnswerKinds; ++i) {
    const auto kind = static_cast<AnswerKind>(i);
    out += fmt::format(R"({}"{}":{})", i == 0 ? "" : ",", to_string(kind), tally.answers(kind));
  }
  out += R"(},"statuses":{)";
  for (const auto& [status, count] : tally.statuses()) {
    out += fmt::format(R"({}"{}":{})", out.back() == '{' ? "" : ",", status, count);
  }
  out += R"(},"endings":{)";
  for (size_t i = 0; i < workload::kEndings; ++i) {
    const auto& latency = tally.latency(static_cast<Ending>(i));
    if (latency.total() > 0) {
      out += fmt::format(R"({}"{}":{{"count":{},"latency_ms":{}}})", out.back() == '{' ? "" : ",",
                         to_string(static_cast<Ending>(i)), latency.total(),
                         percentiles_json(latency));
    }
  }
  out += R"(},"latency_ms":)" + percentiles_json(tally.latency());
  out += R"(,"lag_ms":)" + percentiles_json(tally.lag());
  return out + fmt::format(R"(,"connects":{}}})", generator.connections().connects.value());
}

std::string report_text(const Generator& generator) {
  const Tally& tally = generator.tally();
  std::string out =
      fmt::format("not sent     dropped {}   late {}   of {} offered ({:.2f} %)\n", tally.dropped(),
                  tally.late(), tally.offered(), 100 * tally.missed_ratio());
  const std::string failure = failure_of(generator);
  out += failure.empty() ? "verdict      the schedule was kept\n"
                         : fmt::format("verdict      FAIL: {}\n", failure);
  out += fmt::format("rate         offered {:.1f}/s   achieved {:.1f}/s   {} connections opened\n",
                     generator.settings().arrivals.rate, achieved_of(generator),
                     generator.connections().connects.value());
  out += "answers    ";
  for (size_t i = 0; i < workload::kAnswerKinds; ++i) {
    const auto kind = static_cast<AnswerKind>(i);
    if (tally.answers(kind) > 0) {
      out += fmt::format("  {} {}", to_string(kind), tally.answers(kind));
    }
  }
  out += "\nlatency ms " + percentiles_text(tally.latency()) + "   (from the due time, all)\n";
  for (size_t i = 0; i < workload::kEndings; ++i) {
    const auto& latency = tally.latency(static_cast<Ending>(i));
    if (latency.total() > 0) {
      out += fmt::format("  {:<9}{}   ({})\n", to_string(static_cast<Ending>(i)),
                         percentiles_text(latency), latency.total());
    }
  }
  return out + "sender lag " + percentiles_text(tally.lag()) + "\n";
}

std::string progress_line(const Generator& generator) {
  constexpr size_t kWidth = 30;
  const double total = seconds_of(generator.settings().arrivals.duration);
  const double ratio = std::clamp(seconds_of(generator.elapsed()) / total, 0.0, 1.0);
  const auto filled = static_cast<size_t>(ratio * kWidth);
  const Tally& tally = generator.tally();
  return fmt::format("[{}{}] {:3.0f} %  {:.0f}/s  p99 {:.1f} ms  in flight {}  dropped {}  late {}",
                     std::string(filled, '#'), std::string(kWidth - filled, '.'), 100 * ratio,
                     achieved_of(generator), base::to_ms(tally.latency().quantile(0.99)),
                     generator.in_flight(), tally.dropped(), tally.late());
}

}  // namespace spillway::app
