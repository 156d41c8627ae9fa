#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"
#include "net/server.h"
#include "resilience/guard.h"

namespace spillway::observe {

/// What the admin listener shows and does; every function runs on the admin server's thread.
struct AdminHooks {
  std::function<std::string()> metrics;       ///< Body of GET /metrics.
  std::function<bool()> ready;                ///< GET /readyz: 200 or 503.
  std::function<std::string()> circuits;      ///< JSON of GET /admin/circuits.
  /// POST /admin/circuits?key=...: empty when done, else what is wrong.
  std::function<std::string(std::string_view key, resilience::Mode mode, base::Duration lasting,
                            std::string_view why)>
      set_mode;
  /// POST /admin/reload: empty when done, else every problem, a line each.
  std::function<std::string()> reload;
};

/// Answers one admin request: /metrics, /healthz, /readyz, /admin/circuits, /admin/reload; 404 and
/// 405 otherwise. Never throws; bad JSON or fields are 400 with a sentence naming the field.
void answer_admin(const AdminHooks& hooks, const net::Request& request, net::Reply reply);

/// {"circuits":[{"key":...,"state":...,"mode":...,...}]} of every guard, in order of key.
[[nodiscard]] std::string circuits_json(const resilience::Registry& registry);

}  // namespace spillway::observe
