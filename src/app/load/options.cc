#include "app/load/options.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/command_line.h"
#include "app/config/config_file.h"
#include "app/config/units.h"
#include "app/config/url.h"
#include "app/load/generator.h"
#include "app/load/request_files.h"
#include "base/result.h"
#include "base/time.h"
#include "net/tls.h"
#include "workload/arrivals.h"
#include "workload/corpus.h"
#include "workload/rate_profile.h"

namespace spillway::app {

namespace {

using workload::RateProfile;

constexpr double kRateMin = 0.001;
constexpr size_t kTraceBytesMax = size_t{4} << 20;

base::Result<LoadTarget, std::string> target_of(const LoadOptions& options,
                                                const std::string& text) {
  const auto url = parse_http_url(text);
  if (!url) {
    return std::unexpected("--target: " + url.error());
  }
  if (!is_loopback(url->host) && !options.allow_remote) {
    return std::unexpected(fmt::format(
        "--target: {} is not this machine; say --allow-remote if you may load it", url->host));
  }
  LoadTarget target{.host = url->host, .port = url->port, .path = url->target};
  if (!options.ca_file.empty() && !url->tls) {
    return std::unexpected("--ca: is of no use with a target over plain http");
  }
  if (url->tls) {
    auto tls = net::TlsClient::make({.host = url->host, .ca_file = options.ca_file});
    if (!tls) {
      return std::unexpected("--ca: " + tls.error());
    }
    target.tls = std::move(*tls);
  }
  return target;
}

base::Result<std::string, std::string> header_lines(const LoadOptions& options) {
  std::string lines;
  for (const std::string& header : options.headers) {
    const size_t colon = header.find(':');
    const bool printable =
        std::all_of(header.begin(), header.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (colon == 0 || colon == std::string::npos || !printable) {
      return std::unexpected(fmt::format("--header: must be \"Name: value\", is \"{}\"", header));
    }
    lines += header + "\r\n";
  }
  return lines;
}

base::Result<RateProfile, std::string> trace_of(const ScheduleOptions& options, double time_scale) {
  const auto text = read_whole_file(options.trace, kTraceBytesMax);
  if (!text) {
    return std::unexpected("--trace: " + text.error());
  }
  auto profile = RateProfile::parse_trace(*text, time_scale);
  if (!profile) {
    return std::unexpected(fmt::format("--trace: {}:{}: {}", options.trace, profile.error().line,
                                       profile.error().what));
  }
  return std::move(*profile);
}

}  // namespace

void LoadOptions::add_to(CLI::App& app) {
  app.add_option("--target", targets, "http://HOST:PORT/PATH, or https; several take turns")
      ->required();
  app.add_option("--header", headers, "\"Name: value\", sent with every request; several");
  app.add_option("--ca", ca_file,
                 "With https: PEM file of who may sign its certificate; else the system's store");
  app.add_option("--connections", connections,
                 "Most connections at once; default: what the schedule needs at worst")
      ->check(CLI::Range(1, 60'000));
  app.add_option("--workers", workers, "Threads that send")->check(CLI::Range(1, 64));
  app.add_flag("--new-connections", new_connections, "A connection for every request");
  app.add_option("--timeout", timeout, "Of each request, such as 500ms");
  app.add_option("--late-after", late_after, "Sent later than this is late");
  app.add_option("--seed", seed, "Of corpus and schedule");
  app.add_flag("--allow-remote", allow_remote, "Let the target be another machine");
  app.add_flag("--force", force, "Run even what cannot be carried");
}

void CorpusOptions::add_to(CLI::App& app) {
  app.add_option("--corpus", corpus, "What is generated: exchange, w1 or w2 (a bidder's)")
      ->check(CLI::IsMember({"exchange", "w1", "w2"}));
  app.add_option("--requests", requests,
                 "Requests of your own: NDJSON, a .json file, or a folder of them");
  app.add_flag("--shuffle", shuffle, "Every connection has its own order of the requests");
  app.add_flag("--get", get, "Plain GETs instead of bid requests");
  app.add_option("--time-scale", time_scale,
                 "A trace's time runs this many times as fast; rates stay, money per time shrinks")
      ->check(number_between(0.001, 1e6));
  const auto share = [&app](const char* name, double& value, const char* what) {
    app.add_option(name, value, what)->check(number_between(0, 1));
  };
  share("--deals", shares.deals_ratio, "exchange: share of imps with deals");
  share("--consent", shares.consent_ratio, "exchange: share with a consent string");
  share("--gzip", shares.gzip_ratio, "exchange, --requests: share sent compressed");
  share("--invalid", shares.invalid_ratio, "exchange: share broken on purpose");
}

void ScheduleOptions::add_to(CLI::App& app) {
  app.add_option("--rate", rate, "Arrivals a second")
      ->check(number_between(kRateMin, RateProfile::kRateMax));
  app.add_option("--duration", duration, "Length of the schedule, such as 30s");
  app.add_option("--ramp-to", ramp_to, "The rate goes in a line from --rate to this one")
      ->check(number_between(0, RateProfile::kRateMax));
  app.add_option("--step-to", step_to, "The rate jumps from --rate to this one, at --step-at")
      ->check(number_between(0, RateProfile::kRateMax));
  app.add_option("--step-at", step_at, "With --step-to; default: half of the duration");
  app.add_option("--trace", trace,
                 "File of lines \"seconds,rate\": the schedule, instead of all above");
  app.add_flag("--poisson", poisson, "Random gaps instead of even ones");
}

base::Result<base::Duration, std::string> time_option(const std::string& name,
                                                      const std::string& text) {
  const auto time = parse_duration(text);
  if (!time || *time <= base::Duration{}) {
    return std::unexpected(fmt::format("{}: must be a time such as 30s, is \"{}\"", name, text));
  }
  return *time;
}

base::Result<LoadSettings, std::string> settings_of(const LoadOptions& options) {
  LoadSettings settings;
  for (const std::string& text : options.targets) {
    auto target = target_of(options, text);
    if (!target) {
      return std::unexpected(target.error());
    }
    settings.targets.push_back(std::move(*target));
  }
  const auto timeout = time_option("--timeout", options.timeout);
  const auto late_after = time_option("--late-after", options.late_after);
  const auto headers = header_lines(options);
  if (!timeout || !late_after || !headers) {
    return std::unexpected(!timeout      ? timeout.error()
                           : !late_after ? late_after.error()
                                         : headers.error());
  }
  settings.timeout = *timeout;
  settings.late_after = *late_after;
  settings.headers = *headers;
  settings.seed = options.seed;
  settings.keep_alive = !options.new_connections;
  settings.connections = options.connections;
  return settings;
}

base::Result<workload::ArrivalSettings, std::string> schedule_of(const ScheduleOptions& options,
                                                                 double time_scale) {
  workload::ArrivalSettings settings{.profile = {}, .poisson = options.poisson};
  if (!options.trace.empty()) {
    auto profile = trace_of(options, time_scale);
    if (!profile) {
      return std::unexpected(profile.error());
    }
    settings.profile = std::move(*profile);
    return settings;
  }
  const auto duration = time_option("--duration", options.duration);
  if (!duration) {
    return std::unexpected(duration.error());
  }
  if (options.ramp_to >= 0 && options.step_to >= 0) {
    return std::unexpected("--ramp-to: not together with --step-to");
  }
  settings.profile = RateProfile::constant(options.rate, *duration);
  if (options.ramp_to >= 0) {
    settings.profile = RateProfile::ramp(options.rate, options.ramp_to, *duration);
  } else if (options.step_to >= 0) {
    const auto at = options.step_at.empty()
                        ? base::Result<base::Duration, std::string>(*duration / 2)
                        : time_option("--step-at", options.step_at);
    if (!at) {
      return std::unexpected(at.error());
    }
    if (*at >= *duration) {
      return std::unexpected("--step-at: must be before the end of --duration");
    }
    settings.profile = RateProfile::step(options.rate, options.step_to, *at, *duration);
  }
  return settings;
}

base::Result<std::optional<workload::Corpus>, std::string> corpus_of(const CorpusOptions& options,
                                                                     uint64_t seed) {
  using workload::Corpus;
  if (options.get) {
    return std::optional<Corpus>();
  }
  if (!options.requests.empty()) {
    const auto texts = read_requests(options.requests);
    if (!texts) {
      return std::unexpected("--requests: " + texts.error());
    }
    return std::optional(Corpus::from_texts(
        *texts,
        {.time_scale = options.time_scale, .gzip_ratio = options.shares.gzip_ratio, .seed = seed}));
  }
  if (options.corpus == "w1") {
    return std::optional(Corpus::parity_bidder());
  }
  if (options.corpus == "w2") {
    return std::optional(Corpus::generate(workload::honest_bidder_settings(seed)));
  }
  workload::CorpusSettings settings = options.shares;
  settings.seed = seed;
  return std::optional(Corpus::generate(settings));
}

}  // namespace spillway::app
