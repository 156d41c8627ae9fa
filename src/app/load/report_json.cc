#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/load/load_run.h"
#include "app/load/report.h"
#include "base/time.h"
#include "workload/gates.h"
#include "workload/latency_histogram.h"
#include "workload/series.h"
#include "workload/tally.h"

namespace spillway::app {

namespace {

using workload::AnswerKind;
using workload::Ending;
using workload::Tally;

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string_view comma(const std::string& out) {
  return out.empty() || out.back() == '{' || out.back() == '[' ? "" : ",";
}

std::string answers_json(const Tally& tally) {
  std::string out = "{";
  for (size_t i = 0; i < workload::kAnswerKinds; ++i) {
    const auto kind = static_cast<AnswerKind>(i);
    out += fmt::format(R"({}"{}":{})", comma(out), to_string(kind), tally.answers(kind));
  }
  return out + "}";
}

std::string statuses_json(const Tally& tally) {
  std::string out = "{";
  for (size_t status = 0; status < Tally::kStatuses; ++status) {
    if (const auto count = tally.status(status); count > 0) {
      out += fmt::format(R"({}"{}":{})", comma(out), status, count);
    }
  }
  return out + "}";
}

std::string endings_json(const Tally& tally) {
  std::string out = "{";
  for (size_t i = 0; i < workload::kEndings; ++i) {
    const auto& latency = tally.latency(static_cast<Ending>(i));
    if (latency.total() > 0) {
      out += fmt::format(R"({}"{}":{{"count":{},"latency_ms":{}}})", comma(out),
                         to_string(static_cast<Ending>(i)), latency.total(),
                         percentiles_json(latency));
    }
  }
  return out + "}";
}

/// Everything but the closing brace.
std::string body_json(const RunSummary& run) {
  const Tally& tally = run.tally;
  const std::string failure = failure_of(run);
  std::string out = fmt::format(
      R"({{"dropped":{},"late":{},"missed_ratio":{:.6f},"failed":{},"why":"{}","offered":{},)"
      R"("ended":{},"in_flight":{},"elapsed_s":{:.3f},"rate_offered":{:.2f},"rate_achieved":{:.2f})",
      tally.dropped(), tally.late(), tally.missed_ratio(), !failure.empty(), failure,
      tally.offered(), tally.ended(), run.in_flight, seconds_of(run.elapsed), run.rate,
      run.rate_achieved());
  out +=
      fmt::format(R"(,"achieved_ratio":{:.6f},"errors":{},"error_ratio":{:.6f},"bid_ratio":{:.6f},)"
                  R"("over_tmax":{},"broken":{},"intervals":{},"starved":{},"duration_s":{:.3f},)"
                  R"("workers":{},"seed":{})",
                  run.achieved_ratio(), tally.failed(), tally.error_ratio(), tally.bid_ratio(),
                  tally.over_tmax(), tally.broken(), run.series.intervals().size(),
                  run.series.starved_count(), seconds_of(run.duration), run.workers, run.seed);
  out += R"(,"answers":)" + answers_json(tally);
  out += R"(,"statuses":)" + statuses_json(tally);
  out += R"(,"endings":)" + endings_json(tally);
  out += R"(,"latency_ms":)" + percentiles_json(tally.latency());
  out += R"(,"lag_ms":)" + percentiles_json(tally.lag());
  return out + fmt::format(R"(,"connects":{})", run.connects);
}

std::string interval_json(const workload::Series& series, size_t index) {
  const workload::Interval& one = series.intervals()[index];
  std::string out = fmt::format(
      R"({{"from_s":{:.0f},"offered":{},"dropped":{},"late":{},"ended":{},"answered":{},)"
      R"("failed":{},"bids":{},"over_tmax":{},"max_lag_ms":{:.3f},"cpu_ratio":{:.3f},)"
      R"("starved":{},"latency_ms":{{"p50":{:.3f},"p90":{:.3f},"p99":{:.3f},"max":{:.3f}}},)"
      R"("buckets":[)",
      seconds_of(series.interval()) * static_cast<double>(index), one.offered, one.dropped,
      one.late, one.ended, one.answered, one.failed, one.bids, one.over_tmax,
      base::to_ms(one.max_lag), one.cpu_ratio, series.starved(index),
      base::to_ms(one.quantile(0.5)), base::to_ms(one.quantile(0.9)),
      base::to_ms(one.quantile(0.99)), base::to_ms(one.quantile(1)));
  for (size_t bucket = 0; bucket < one.latency.size(); ++bucket) {
    if (one.latency[bucket] > 0) {
      out += fmt::format("{}{},{}", comma(out), bucket, one.latency[bucket]);
    }
  }
  return out + "]}";
}

}  // namespace

std::string percentiles_json(const workload::LatencyHistogram& latency) {
  std::string out = "{";
  for (const auto& [name, ratio] : kQuantiles) {
    out += fmt::format(R"({}"{}":{:.3f})", comma(out), name, base::to_ms(latency.quantile(ratio)));
  }
  return out + "}";
}

std::string report_json(const RunSummary& run, const std::vector<workload::GateResult>& gates) {
  std::string out = body_json(run) + R"(,"gates":[)";
  for (const auto& result : gates) {
    out += fmt::format(R"({}{{"gate":"{}","value":{},"passed":{}}})", comma(out), result.gate.text,
                       std::isfinite(result.value) ? fmt::format("{:.6g}", result.value) : "null",
                       result.passed);
  }
  return out + "]}";
}

std::string report_json_full(const RunSummary& run) {
  std::string out = body_json(run);
  out += fmt::format(R"(,"interval_s":{:.0f},"series":[)", seconds_of(run.series.interval()));
  for (size_t i = 0; i < run.series.intervals().size(); ++i) {
    out += (i == 0 ? "\n" : ",\n") + interval_json(run.series, i);
  }
  return out + "]}\n";
}

}  // namespace spillway::app
