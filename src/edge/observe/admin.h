#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "net/http.h"
#include "net/server.h"
#include "resilience/guard.h"

namespace spillway::observe {

/// What a server has done since its start, and does now: what a load balancer's agent steers by.
struct Load {
  uint64_t requests = 0;   ///< All that came.
  uint64_t successes = 0;  ///< Answered as they should be, in time.
  uint64_t failures = 0;   ///< Refused for want of capacity, or answered too late.
  uint64_t in_flight = 0;  ///< Not answered yet.
  uint64_t limit = 0;      ///< Most that may be in flight; 0: no limit.
  base::Duration p95{};    ///< Of the answers of about the last second; zero: there were none.
};

/// What the admin listener shows and does; every function runs on the admin server's thread.
struct AdminHooks {
  std::function<std::string()> metrics;   ///< Body of GET /metrics.
  std::function<bool()> ready;            ///< GET /readyz: 200 or 503.
  std::function<Load()> load{};           ///< Numbers of GET /load.
  std::function<std::string()> circuits;  ///< JSON of GET /admin/circuits.
  /// POST /admin/circuits?key=...: empty when done, else what is wrong.
  std::function<std::string(std::string_view key, resilience::Mode mode, base::Duration lasting,
                            std::string_view why)>
      set_mode;
  /// POST /admin/reload: empty when done, else every problem, a line each.
  std::function<std::string()> reload;
  std::string_view other_pages{};  ///< The caller's own, blanks between, as a 404 names them.
};

/// Answers one admin request: /metrics, /healthz, /readyz, /load, /admin/circuits, /admin/reload;
/// 404 and 405 otherwise. Never throws.
///
/// POST /admin/circuits?key=dsp/region/path, or ?key=dsp/region or ?key=dsp for all under it, takes
/// {"mode": "enforce" | "shadow" | "disabled" | "forced_open", "for": "10m", "why": "..."}: `for`
/// in ms, s, m, h or d, from 1 s to 30 d, 1 h when absent; `why` is required, at most 200 bytes.
/// Bad JSON, unknown or wrong fields are 400 with a sentence naming the field; what a hook refuses
/// is 422 with the hook's own words; a POST with an `Origin` (a web page's, not an operator's) is
/// 403; a hook that throws is 500.
void answer_admin(const AdminHooks& hooks, const net::Request& request, net::Reply reply);

/// The same as a value: what answer_admin would send.
[[nodiscard]] net::Response admin_response(const AdminHooks& hooks, const net::Request& request);

/// One host behind a circuit, as an operator sees it.
struct CircuitHost {
  std::string address;
  bool ejected = false;
  base::Duration returns_in{};  ///< Of an ejected one.
  uint32_t ejections = 0;       ///< Not yet forgotten: the next lasts the longer.
  double weight = 1;
  uint64_t in_flight = 0;
  uint64_t good = 0, local_failures = 0, server_errors = 0, neutral = 0;  ///< Calls.
};

/// {"circuits":[{"key":...,"state":...,"mode":...,...,"hosts":[...]}],"parents":[{"key":...,"state":...,
/// "override":...,"leaves":...,"closed_leaves":...}]} of every guard and of the dependencies and
/// regions above, in order of key. Times in milliseconds; counts since the start under "admitted",
/// "refused" (by code) and "outcomes". `hosts_of` gives those behind a circuit; without it there is
/// no "hosts".
[[nodiscard]] std::string circuits_json(
    const resilience::Registry& registry,
    const std::function<std::vector<CircuitHost>(std::string_view key)>& hosts_of = {});

}  // namespace spillway::observe
