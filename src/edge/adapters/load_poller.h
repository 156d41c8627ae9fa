#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/load_text.h"
#include "base/call_result.h"
#include "base/result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/reactor.h"

namespace spillway::adapters {

/// Where a server says what it does.
struct LoadSettings {
  std::string host = "127.0.0.1";
  uint16_t port = 9901;
  std::string target = "/load";  ///< Path and query.
  /// How long an answer may take. Larger: a slow server is still read, a tick takes longer.
  base::Duration timeout = std::chrono::milliseconds(500);
  /// An answer that is overdue is given up when the next is asked for: no timer, whose setting and
  /// ringing would be a good part of what a question costs. Else when it is overdue.
  bool judged_when_asked = false;
  /// Not there: the answer is that of GET /load; else a Prometheus page.
  std::optional<PageSelectors> page;
};

/// Asks a server for its counts, over one connection that is kept. One question at a time.
/// One thread: the reactor's. Memory: one answer, 1 MiB at most.
class LoadPoller final : private net::CallListener {
 public:
  /// On the reactor's thread; inside ask() for one that it ends.
  using Done = std::move_only_function<void(const base::Result<LoadCounts, LoadErrc>&)>;

  LoadPoller(net::Reactor& reactor, LoadSettings settings, Done done);
  LoadPoller(const LoadPoller&) = delete;
  LoadPoller& operator=(const LoadPoller&) = delete;
  ~LoadPoller();

  /// Once an ask, `done` is told. False, and nothing is asked, while an earlier one is under way.
  /// One that is overdue ends now, as a timeout, before the next is asked.
  bool ask(base::Instant now);

 private:
  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool draining) override;

  void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

  LoadSettings settings_;
  Done done_;
  bool asking_ = false;
  uint64_t call_ = 0;
  base::Instant by_{};
  net::Client client_;
  net::TargetId target_;
};

}  // namespace spillway::adapters
