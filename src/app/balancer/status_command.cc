#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <fmt/format.h>

#include "app/balancer/commands.h"
#include "app/config/complaint.h"
#include "app/config/url.h"
#include "base/call_result.h"
#include "net/client.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::app::balancing {

namespace {

using openrtb::Document;
using openrtb::NodeId;

/// One call, and the end of the reactor.
class Caller final : public net::CallListener {
 public:
  explicit Caller(net::Reactor& reactor) : reactor_(reactor) {}

  void on_answer(uint64_t /*tag*/, const base::CallResult& result, std::string_view body,
                 bool /*draining*/) override {
    constexpr uint16_t kOk = 200;
    good = result.error == base::CallError::kNone && result.status == kOk;
    answer = std::string(body);
    reactor_.stop();
  }

  void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

  bool good = false;
  std::string answer;

 private:
  net::Reactor& reactor_;
};

void print_haproxy(const Document& json, NodeId haproxy) {
  const auto text = [&](NodeId of, std::string_view key) {
    return json.string(json.find(of, key));
  };
  const auto raw = [&](NodeId of, std::string_view key) { return json.raw(json.find(of, key)); };
  fmt::print("\n{}  {}  HAProxy {}  {} {}\n", text(haproxy, "name"), text(haproxy, "socket"),
             text(haproxy, "version"), text(haproxy, "mode"), text(haproxy, "algorithm"));
  if (const std::string error = text(haproxy, "error"); !error.empty()) {
    fmt::print("  cannot be read: {}\n", error);
    return;
  }
  fmt::print("  {:<24} {:<22} {:<14} {:>6} {:<8} {:>8} {:>8} {:>8}\n", "server", "address",
             "status", "weight", "agent", "sessions", "expected", "received");
  for (const NodeId server : json.children(json.find(haproxy, "servers"))) {
    const bool dead = raw(server, "agent_dead") == "true";
    fmt::print("  {:<24} {:<22} {:<14} {:>6} {:<8} {:>8} {:>8} {:>8}\n", text(server, "name"),
               text(server, "address"), text(server, "status"), raw(server, "weight"),
               dead ? "dead" : text(server, "agent"), raw(server, "sessions"),
               raw(server, "expected_ratio"), raw(server, "received_ratio"));
  }
  if (const std::string cause = text(haproxy, "cause"); !cause.empty() && cause != "none") {
    fmt::print("  weights without effect: off by {}, likely cause {}\n",
               raw(haproxy, "share_difference_ratio"), cause);
  }
}

}  // namespace

int print_status(const std::string& admin, bool json) {
  constexpr int kFailed = 1;
  const auto place = parse_listen(admin);
  if (!place) {
    return complain(
        fmt::format("spillway balancer: --admin must be ADDRESS:PORT, is \"{}\"", admin), json,
        kFailed);
  }
  const net::OsClock clock;
  net::Reactor reactor(clock);
  net::Client client(reactor);
  Caller caller(reactor);
  const auto target =
      client.add_target({.name = "admin", .host = place->host, .port = place->port});
  constexpr auto kPatience = std::chrono::seconds(5);
  client.call(target, "GET", "/status", {}, {}, {.answer_by = clock.now() + kPatience}, 1, caller);
  reactor.run();
  const openrtb::Padded text(caller.answer);
  Document document;
  if (!caller.good || !document.walk(text.view())) {
    return complain("spillway balancer: no balancer answers at " + admin, json, kFailed);
  }
  if (json) {
    fmt::print("{}", caller.answer);
    return 0;
  }
  const NodeId root = document.root();
  fmt::print("backend {}  ready {}\n", document.string(document.find(root, "backend")),
             document.raw(document.find(root, "ready")));
  if (const NodeId registry = document.find(root, "registry"); registry != openrtb::kAbsent) {
    fmt::print("registry {}  members {}  age {} ms  {}\n",
               document.string(document.find(registry, "kind")),
               document.raw(document.find(registry, "members")),
               document.raw(document.find(registry, "age_ms")),
               document.string(document.find(registry, "error")));
  }
  for (const NodeId haproxy : document.children(document.find(root, "haproxies"))) {
    print_haproxy(document, haproxy);
  }
  return 0;
}

}  // namespace spillway::app::balancing
