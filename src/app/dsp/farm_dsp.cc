#include "app/dsp/farm_dsp.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/dsp/farm_config.h"
#include "app/dsp/farm_listener.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/tls.h"

namespace spillway::app {

namespace {

constexpr base::Duration kTick = std::chrono::milliseconds(20);

// A port that is free at one address may be taken at another.
constexpr int kPortTries = 20;

/// "127.0.0.1:80" into its parts; false when there is no port.
bool split(std::string_view text, std::string& host, uint16_t& port) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  host = text.substr(0, colon);
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
  return error == std::errc() && rest == end;
}

}  // namespace

FarmDsp::FarmDsp(net::Reactor& reactor, const FarmDspConfig& config, uint64_t seed,
                 base::Instant start)
    : reactor_(reactor), partner_(config.partner, start, seed) {
  std::string host;
  uint16_t port = 0;
  const bool sound = split(config.listen, host, port);
  std::shared_ptr<net::TlsServer> tls;
  if (!config.cert_file.empty()) {
    auto made =
        net::TlsServer::make({.certificate_file = config.cert_file, .key_file = config.key_file});
    if (!made) {
      error_ = fmt::format("{}: {}", name(), made.error());
    } else {
      tls = std::move(*made);
    }
  }
  listeners_.push_back(std::make_unique<FarmListener>(reactor, partner_, host, tls));
  for (const auto& more : config.hosts) {
    listeners_.push_back(std::make_unique<FarmListener>(reactor, partner_, more, tls));
  }
  if (!error_.empty()) {
    return;
  }
  std::string problem =
      sound ? open(port)
            : fmt::format("listen must be an address and a port, is \"{}\"", config.listen);
  for (int i = 1; port == 0 && sound && !problem.empty() && i < kPortTries; ++i) {
    for (auto& listener : listeners_) {
      listener =
          std::make_unique<FarmListener>(reactor, partner_, std::string(listener->host()), tls);
    }
    problem = open(port);
  }
  if (!problem.empty()) {
    error_ = fmt::format("{}: {}", name(), problem);
    return;
  }
  follow_faults(start);
  reactor_.timers().arm(*this, start + kTick);
}

FarmDsp::~FarmDsp() { cancel(); }

std::string FarmDsp::open(uint16_t port) {
  for (const auto& listener : listeners_) {
    std::string problem = listener->open(port);
    if (!problem.empty()) {
      return problem;
    }
    port = listener->port();
  }
  return "";
}

bool FarmDsp::listening() const {
  return std::ranges::all_of(listeners_, [](const auto& one) { return one->listening(); });
}

size_t FarmDsp::connections() const {
  size_t open = 0;
  for (const auto& listener : listeners_) {
    open += listener->connections();
  }
  return open;
}

bool FarmDsp::has_host(std::string_view host) const {
  return std::ranges::any_of(listeners_, [&](const auto& one) { return one->host() == host; });
}

void FarmDsp::follow_faults(base::Instant now) {
  for (const auto& listener : listeners_) {
    listener->follow_faults(now);
  }
}

void FarmDsp::on_timer(base::Instant now) {
  for (const auto& listener : listeners_) {
    listener->sweep();
    listener->follow_faults(now);
  }
  reactor_.timers().arm(*this, now + kTick);
}

}  // namespace spillway::app
