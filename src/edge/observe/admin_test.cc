#include "observe/admin.h"

#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "net/http.h"
#include "resilience/guard.h"

namespace spillway::observe {
namespace {

/// Hooks that note what they were asked.
struct Desk {
  AdminHooks hooks() {
    return {.metrics = [] { return std::string("spillway_up 1\n"); },
            .ready = [this] { return ready; },
            .load =
                [] {
                  return Load{.requests = 9,
                              .successes = 5,
                              .failures = 3,
                              .in_flight = 1,
                              .limit = 64,
                              .p95 = std::chrono::microseconds(12'500)};
                },
            .circuits = [] { return std::string("{\"circuits\":[]}"); },
            .set_mode =
                [this](std::string_view key, resilience::Mode mode, base::Duration lasting,
                       std::string_view why) {
                  orders.push_back({.key = std::string(key),
                                    .mode = mode,
                                    .lasting = lasting,
                                    .why = std::string(why)});
                  return refusal;
                },
            .reload = [this] { return refusal; }};
  }

  struct Order {
    std::string key;
    resilience::Mode mode;
    base::Duration lasting;
    std::string why;
  };

  bool ready = true;
  std::string refusal;
  std::vector<Order> orders;
};

net::Response ask(const AdminHooks& hooks, std::string_view method, std::string_view target,
                  std::string_view body = {}, std::span<const net::Header> headers = {}) {
  net::Request request;
  request.method = method;
  request.target = target;
  request.body = body;
  request.headers = headers;
  return admin_response(hooks, request);
}

constexpr std::string_view kOrder = R"({"mode":"forced_open","for":"10m","why":"partner asked"})";

TEST(Admin, ServesMetricsHealthAndReadiness) {
  Desk desk;
  const AdminHooks hooks = desk.hooks();
  const auto metrics = ask(hooks, "GET", "/metrics?x=1");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(metrics.body, "spillway_up 1\n");
  EXPECT_EQ(ask(hooks, "GET", "/healthz").status, 200);
  EXPECT_EQ(ask(hooks, "GET", "/readyz").status, 200);
  desk.ready = false;
  EXPECT_EQ(ask(hooks, "GET", "/readyz").status, 503);
  EXPECT_EQ(ask(hooks, "GET", "/healthz").status, 200);
}

TEST(Admin, SaysWhatTheServerHasDoneInOneFlatObject) {
  Desk desk;
  const auto answer = ask(desk.hooks(), "GET", "/load");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body,
            "{\"requests\":9,\"successes\":5,\"failures\":3,\"in_flight\":1,\"limit\":64,"
            "\"p95_ms\":12.500}\n");
}

TEST(Admin, ShowsCircuits) {
  Desk desk;
  const auto answer = ask(desk.hooks(), "GET", "/admin/circuits");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body, "{\"circuits\":[]}");
}

TEST(Admin, PassesAnOrderOnWhole) {
  Desk desk;
  const auto hooks = desk.hooks();
  EXPECT_EQ(ask(hooks, "POST", "/admin/circuits?key=alpha/eu/display", kOrder).status, 200);
  EXPECT_EQ(ask(hooks, "POST", "/admin/circuits?a=b&key=b%65ta%2Feu%2Fvideo", kOrder).status, 200);
  ASSERT_EQ(desk.orders.size(), 2U);
  EXPECT_EQ(desk.orders[0].key, "alpha/eu/display");
  EXPECT_EQ(desk.orders[0].mode, resilience::Mode::kForcedOpen);
  EXPECT_EQ(desk.orders[0].lasting, std::chrono::minutes(10));
  EXPECT_EQ(desk.orders[0].why, "partner asked");
  EXPECT_EQ(desk.orders[1].key, "beta/eu/video");
}

TEST(Admin, RefusesAnOrderWithoutOneGoodKey) {
  Desk desk;
  const auto hooks = desk.hooks();
  for (const char* query : {"", "?", "?key=", "?key=a&key=b", "?key=%4", "?key=%zz", "?kez=a"}) {
    const auto answer = ask(hooks, "POST", std::string("/admin/circuits") + query, kOrder);
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_TRUE(answer.body.starts_with("key: ")) << answer.body;
  }
  EXPECT_TRUE(desk.orders.empty());
}

TEST(Admin, SaysWhichFieldOfAnOrderIsWrong) {
  Desk desk;
  const auto answer =
      ask(desk.hooks(), "POST", "/admin/circuits?key=a", R"({"mode":"forced_open","for":"10m"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, "why: is required\n");
  EXPECT_TRUE(desk.orders.empty());
}

TEST(Admin, HandsBackAHooksRefusal) {
  Desk desk;
  desk.refusal = "key: no circuit a";
  const auto hooks = desk.hooks();
  const auto answer = ask(hooks, "POST", "/admin/circuits?key=a", kOrder);
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.body, "key: no circuit a\n");
  desk.refusal = "c.yaml:3: dsps: bad\nc.yaml:9: admin: bad\n";
  const auto reload = ask(hooks, "POST", "/admin/reload");
  EXPECT_EQ(reload.status, 422);
  EXPECT_EQ(reload.body, desk.refusal);
  desk.refusal.clear();
  EXPECT_EQ(ask(hooks, "POST", "/admin/reload").status, 200);
}

TEST(Admin, AnswersOtherPathsAndMethods) {
  Desk desk;
  const auto hooks = desk.hooks();
  EXPECT_EQ(ask(hooks, "GET", "/").status, 404);
  EXPECT_EQ(ask(hooks, "GET", "/metrics/").status, 404);
  for (const char* path : {"/metrics", "/healthz", "/readyz", "/load"}) {
    const auto answer = ask(hooks, "POST", path);
    EXPECT_EQ(answer.status, 405) << path;
    ASSERT_EQ(answer.headers.size(), 1U);
    EXPECT_EQ(answer.headers[0].first, "Allow");
    EXPECT_EQ(answer.headers[0].second, "GET, HEAD");
  }
  EXPECT_EQ(ask(hooks, "GET", "/admin/reload").status, 405);
  EXPECT_EQ(ask(hooks, "DELETE", "/admin/circuits?key=a").status, 405);
}

TEST(Admin, AMissingHookIsNoPage) {
  const AdminHooks none;
  EXPECT_EQ(ask(none, "GET", "/healthz").status, 200);
  for (const char* path : {"/metrics", "/readyz", "/load", "/admin/circuits"}) {
    EXPECT_EQ(ask(none, "GET", path).status, 404) << path;
  }
  EXPECT_EQ(ask(none, "GET", "/metrics").body, "/metrics: no such page; there are /healthz\n");
  EXPECT_EQ(ask(none, "POST", "/admin/reload").status, 404);
  EXPECT_EQ(ask(none, "POST", "/admin/circuits?key=a", kOrder).status, 404);
}

TEST(Admin, TakesNoOrdersFromWebPages) {
  Desk desk;
  const std::vector<net::Header> headers = {{.name = "origin", .value = "https://evil.example"}};
  EXPECT_EQ(ask(desk.hooks(), "POST", "/admin/circuits?key=a", kOrder, headers).status, 403);
  EXPECT_TRUE(desk.orders.empty());
}

TEST(Admin, AHookThatThrowsIsA500) {
  AdminHooks hooks;
  hooks.metrics = []() -> std::string { throw std::runtime_error("no metrics today"); };
  const auto answer = ask(hooks, "GET", "/metrics");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "hook: no metrics today\n");
}

}  // namespace
}  // namespace spillway::observe
