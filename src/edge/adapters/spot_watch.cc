#include "adapters/spot_watch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"

namespace spillway::adapters {
namespace {

constexpr size_t kTextBytes = 512;
constexpr size_t kTokenBytes = 1024;

/// What may stand in a header line.
bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= kTokenBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

SpotWatch::SpotWatch(net::Reactor& reactor, SpotSettings settings, Told told)
    : reactor_(reactor),
      settings_(std::move(settings)),
      told_(std::move(told)),
      client_(reactor, {.worker_bytes = size_t{1} << 20}),
      target_(client_.add_target({.name = "imds",
                                  .host = settings_.host,
                                  .port = settings_.port,
                                  .max_connections = 2,
                                  .max_handshakes = 2,
                                  .max_waiting = 2,
                                  .answer_bytes = size_t{16} << 10})) {}

SpotWatch::~SpotWatch() = default;

void SpotWatch::start() { on_timer(reactor_.now()); }

void SpotWatch::on_timer(base::Instant now) {
  reactor_.timers().arm(*this, now + settings_.interval);
  if (asking_) {
    return;
  }
  token_is_fresh_ = false;
  ask(token_.empty() || now >= token_until_ ? Step::kToken : Step::kInterruption);
}

void SpotWatch::ask(Step step) {
  constexpr std::array<std::string_view, 3> kPaths{
      "/latest/api/token", "/latest/meta-data/spot/instance-action",
      "/latest/meta-data/events/recommendations/rebalance"};
  asking_ = true;
  const auto by = reactor_.now() + settings_.timeout;
  const auto header =
      step == Step::kToken
          ? fmt::format("X-aws-ec2-metadata-token-ttl-seconds: {}\r\n", settings_.token_ttl_s)
          : fmt::format("X-aws-ec2-metadata-token: {}\r\n", token_);
  client_.call(target_, step == Step::kToken ? "PUT" : "GET", kPaths.at(static_cast<size_t>(step)),
               header, std::span<const std::string_view>(),
               {.connect_by = by, .first_byte_by = by, .answer_by = by},
               static_cast<uint64_t>(step), *this);
}

void SpotWatch::on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                          bool /*draining*/) {
  asking_ = false;
  const auto step = static_cast<Step>(tag);
  if (result.error != base::CallError::kNone) {
    counters_.failures.add();
  } else if (step == Step::kToken) {
    on_token(result, body);
  } else if (result.status == 401 && !token_is_fresh_) {
    token_.clear();
    ask(Step::kToken);
  } else {
    on_notice(step, result, body);
  }
}

void SpotWatch::on_token(const base::CallResult& result, std::string_view body) {
  if (result.status != 200 || !is_token(body)) {
    counters_.failures.add();
    return;
  }
  counters_.tokens.add();
  token_ = body;
  token_is_fresh_ = true;
  // Renewed after three quarters of its life: the service's clock is not ours.
  token_until_ = reactor_.now() + std::chrono::milliseconds(settings_.token_ttl_s * int64_t{750});
  ask(Step::kInterruption);
}

void SpotWatch::on_notice(Step step, const base::CallResult& result, std::string_view body) {
  if (result.status != 200 && result.status != 404) {
    counters_.failures.add();
    return;
  }
  bool& was_told = step == Step::kInterruption ? told_interruption_ : told_rebalance_;
  const bool there = result.status == 200;
  if (step == Step::kInterruption) {
    counters_.polls.add();
    if (settings_.rebalance) {
      ask(Step::kRebalance);
    }
  }
  if (there && !std::exchange(was_told, true)) {
    told_(step == Step::kInterruption ? SpotNotice::kInterruption : SpotNotice::kRebalance,
          body.substr(0, kTextBytes));
  }
}

}  // namespace spillway::adapters
