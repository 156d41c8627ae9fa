#include "adapters/load_poller.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>
#include <utility>

#include "adapters/load_text.h"
#include "base/call_result.h"
#include "base/result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"

namespace spillway::adapters {
namespace {

base::Result<LoadCounts, LoadErrc> counts_of(const base::CallResult& result, std::string_view body,
                                             const LoadSettings& settings) {
  if (result.error == base::CallError::kTimeout || result.error == base::CallError::kCancelled) {
    return std::unexpected(LoadErrc::kTimeout);
  }
  if (result.error != base::CallError::kNone) {
    return std::unexpected(LoadErrc::kUnreachable);
  }
  if (result.status != 200) {
    return std::unexpected(LoadErrc::kStatus);
  }
  return settings.page ? parse_page(body, *settings.page) : parse_load(body);
}

}  // namespace

LoadPoller::LoadPoller(net::Reactor& reactor, LoadSettings settings, Done done)
    : settings_(std::move(settings)),
      done_(std::move(done)),
      client_(reactor, {.worker_bytes = size_t{4} << 20}),
      target_(client_.add_target({.name = "load",
                                  .host = settings_.host,
                                  .port = settings_.port,
                                  .max_connections = 2,
                                  .max_handshakes = 2,
                                  .max_waiting = 2})) {}

LoadPoller::~LoadPoller() = default;

bool LoadPoller::ask(base::Instant now) {
  if (asking_ && now < by_) {
    return false;
  }
  if (asking_) {
    client_.cancel(call_);
  }
  asking_ = true;
  by_ = now + settings_.timeout;
  const auto by = settings_.judged_when_asked ? base::kNever : by_;
  call_ = client_.call(target_, "GET", settings_.target, "Accept: */*\r\n",
                       std::span<const std::string_view>(),
                       {.connect_by = by, .first_byte_by = by, .answer_by = by}, 0, *this);
  return true;
}

void LoadPoller::on_answer(uint64_t /*tag*/, const base::CallResult& result, std::string_view body,
                           bool /*draining*/) {
  asking_ = false;
  const bool late = result.error == base::CallError::kNone && result.ended_at > by_;
  done_(late ? std::unexpected(LoadErrc::kTimeout) : counts_of(result, body, settings_));
}

}  // namespace spillway::adapters
