#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kNoContent = "HTTP/1.1 204 No Content\r\n\r\n";

std::string request(int tmax_ms, std::string_view extra = "") {
  return fmt::format(
      R"({{"id":"req-1","tmax":{},"imp":[{{"id":"1","bidfloor":0.5,"banner":{{"w":300,"h":250}}}}],)"
      R"("site":{{"id":"s"}}{}}})",
      tmax_ms, extra);
}

std::string one_dsp(uint16_t port, std::string_view more = "") {
  return fmt::format("dsps:\n  - {{ name: d, endpoint: \"http://127.0.0.1:{}/\"{} }}\n", port,
                     more);
}

// Callers that keep asking until told to stop.
class Traffic {
 public:
  Traffic(const ExchangeProcess& exchange, int threads, std::string body) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, caller = exchange.auction(), body] {
        while (!ending_) {
          (void)caller.post("/openrtb2/auction", body);
        }
      });
    }
  }

  ~Traffic() {
    ending_ = true;
    for (auto& thread : threads_) {
      thread.join();
    }
  }

  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

 private:
  std::atomic<bool> ending_{false};
  std::vector<std::thread> threads_;
};

TEST(Circuit, OpensForAHangAndClosesAgainAfterIt) {
  FakeDsp dsp([](const Message&) { return FakeDsp::Answer{.bytes = "", .hang = true}; });
  // The margin bears that eight busy callers and the DSP share two processors with the exchange.
  ExchangeProcess exchange(
      "guards: { open_min: 300ms, open_max: 600ms, ramp: 1s }\n"
      "accounts:\n  - { response_margin: 40ms }\n" +
      one_dsp(dsp.port()));
  ASSERT_TRUE(exchange.started());
  const Traffic traffic(exchange, 8, request(120));
  const auto opened = exchange.wait_for_event({"event=circuit_transition", " to=open "}, 20s);
  EXPECT_NE(opened.find("key=d/default/display"), std::string::npos) << opened;
  EXPECT_NE(opened.find("rule="), std::string::npos);
  EXPECT_NE(opened.find("reason="), std::string::npos);
  dsp.set_script([](const Message&) { return FakeDsp::Answer{.bytes = std::string(kNoContent)}; });
  EXPECT_NE(exchange.wait_for_event({"event=circuit_transition", " to=closed "}, 30s), "");
  EXPECT_EQ(exchange.metrics()["spillway_exchange_deadline_misses_total"], 0);
}

TEST(Circuit, ForcedOpenByAnOperatorAsksNobody) {
  FakeDsp dsp([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1"))}; });
  ExchangeProcess exchange(one_dsp(dsp.port()));
  const auto admin = exchange.admin();
  const auto order = admin.post("/admin/circuits?key=d/default/display",
                                R"({"mode":"forced_open","for":"10m","why":"drill"})");
  EXPECT_EQ(order.status(), 200) << order.body;
  EXPECT_NE(exchange.wait_for_event({"mode=forced_open", "drill"}, 5s), "");
  const auto answer = exchange.bid_request(request(300, R"(,"test":1)"));
  EXPECT_EQ(answer.status(), 200);
  EXPECT_NE(answer.body.find("520"), std::string::npos) << answer.body;
  EXPECT_EQ(dsp.calls(), 0U);
  EXPECT_NE(admin.call("GET", "/admin/circuits").body.find("forced_open"), std::string::npos);
  const auto unknown = admin.post("/admin/circuits?key=nobody/x/y", R"({"mode":"enforce"})");
  EXPECT_GE(unknown.status(), 400);
}

TEST(Circuit, ForcedOpenForAWholeDspAsksNoneOfItsEndpointsUntilItIsEnforcedAgain) {
  FakeDsp banner([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1"))}; });
  FakeDsp other([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("2", "o"))}; });
  ExchangeProcess exchange(fmt::format(
      "dsps:\n"
      "  - name: d\n"
      "    endpoints:\n"
      "      - {{ url: \"http://127.0.0.1:{0}/\", region: eu, media: [banner] }}\n"
      "      - {{ url: \"http://127.0.0.1:{0}/v\", region: eu, path: video, media: [video] }}\n"
      "  - {{ name: o, endpoint: \"http://127.0.0.1:{1}/\" }}\n",
      banner.port(), other.port()));
  ASSERT_TRUE(exchange.started());
  const auto admin = exchange.admin();
  const auto order = admin.post("/admin/circuits?key=d", R"({"mode":"forced_open","why":"drill"})");
  EXPECT_EQ(order.status(), 200) << order.body;
  const auto answer = exchange.bid_request(request(300));
  EXPECT_NE(answer.body.find(R"("seat":"o")"), std::string::npos) << answer.body;
  EXPECT_EQ(banner.calls(), 0U);
  EXPECT_EQ(other.calls(), 1U) << "another DSP is none of its business";
  const std::string circuits = admin.call("GET", "/admin/circuits").body;
  EXPECT_NE(circuits.find(R"("key":"d","state":"closed","override":"forced_open","leaves":2)"),
            std::string::npos)
      << circuits;
  const auto modes = exchange.metrics();
  for (const char* path : {"display", "video"}) {
    const auto series =
        fmt::format(R"(spillway_exchange_circuit_mode{{dsp="d",region="eu",path="{}",)"
                    R"(mode="forced_open"}})",
                    path);
    EXPECT_EQ(modes.at(series), 1) << series;
  }
  const auto end = admin.post("/admin/circuits?key=d", R"({"mode":"enforce","why":"done"})");
  EXPECT_EQ(end.status(), 200) << end.body;
  EXPECT_NE(
      exchange.wait_for_event({"key=d/eu/video", "from_mode=forced_open", "mode=enforce"}, 5s), "");
  EXPECT_NE(admin.call("GET", "/admin/circuits")
                .body.find(R"("key":"d","state":"closed","override":"enforce")"),
            std::string::npos);
}

TEST(Reload, TakesAGoodFileAndKeepsWindowsAndModes) {
  FakeDsp dsp([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1"))}; });
  FakeDsp other(
      [](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("2", "other"))}; });
  const std::string before = one_dsp(dsp.port());
  ExchangeProcess exchange(before);
  EXPECT_EQ(exchange.bid_request(request(300)).status(), 200);
  const auto circuits = exchange.admin().call("GET", "/admin/circuits").body;
  EXPECT_NE(circuits.find(R"("ok":1)"), std::string::npos) << circuits;

  exchange.rewrite(before + fmt::format("  - {{ name: e, endpoint: \"http://127.0.0.1:{}/\" }}\n",
                                        other.port()));
  EXPECT_EQ(exchange.admin().post("/admin/reload", "").status(), 200);
  const auto answer = exchange.bid_request(request(300));
  EXPECT_NE(answer.body.find(R"("seat":"other")"), std::string::npos) << answer.body;
  const auto after = exchange.admin().call("GET", "/admin/circuits").body;
  EXPECT_NE(after.find(R"("ok":2)"), std::string::npos) << after;

  exchange.rewrite(before);
  exchange.signal(SIGHUP);
  EXPECT_NE(exchange.wait_for_event({"event=reloaded", "dsps=1"}, 5s), "");
  const uint64_t calls = other.calls();
  EXPECT_EQ(exchange.bid_request(request(300)).status(), 200);
  EXPECT_EQ(other.calls(), calls);
  EXPECT_EQ(exchange.stop(), 0);
}

/// Whether the page names the DSP in some series.
bool names_dsp(const std::map<std::string, double>& metrics, std::string_view dsp) {
  return std::ranges::any_of(metrics, [label = fmt::format("dsp=\"{}\"", dsp)](const auto& series) {
    return series.first.contains(label);
  });
}

TEST(Reload, ForgetsARemovedDspWhenItsLastCallIsOverAndItComesBackAnew) {
  FakeDsp stays([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1"))}; });
  std::atomic<bool> silent{false};
  FakeDsp goes([&silent](const Message&) {
    return silent ? FakeDsp::Answer{.bytes = "", .hang = true}
                  : FakeDsp::Answer{.bytes = ok(bid_body("2", "other"))};
  });
  const std::string without = one_dsp(stays.port());
  const std::string with =
      without + fmt::format("  - {{ name: e, endpoint: \"http://127.0.0.1:{}/\" }}\n", goes.port());
  const std::string asked =
      R"(spillway_exchange_dsp_asked_total{dsp="e",region="default",path="display"})";
  ExchangeProcess exchange(with);
  ASSERT_TRUE(exchange.started());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(exchange.bid_request(request(300)).status(), 200);
  }
  EXPECT_EQ(exchange.metrics()[asked], 3);
  for (int round = 0; round < 2; ++round) {
    silent = round == 1;  // one call more, whose tail outlives the configuration
    EXPECT_EQ(exchange.bid_request(request(300)).status(), 200);
    exchange.rewrite(without);
    EXPECT_EQ(exchange.admin().post("/admin/reload", "").status(), 200);
    EXPECT_NE(exchange.wait_for_event({"event=endpoint_forgotten", "key=e/default/display"}, 10s),
              "");
    const auto after = exchange.metrics();
    EXPECT_FALSE(names_dsp(after, "e"));
    EXPECT_TRUE(names_dsp(after, "d"));
    EXPECT_EQ(exchange.admin().call("GET", "/admin/circuits").body.find("e/default"),
              std::string::npos);
    silent = false;
    exchange.rewrite(with);
    EXPECT_EQ(exchange.admin().post("/admin/reload", "").status(), 200);
    EXPECT_EQ(exchange.bid_request(request(300)).status(), 200);
    EXPECT_EQ(exchange.metrics()[asked], 1);
  }
  EXPECT_EQ(exchange.stop(), 0);
}

TEST(Reload, RefusesABadFileAndSaysWhy) {
  FakeDsp dsp([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1"))}; });
  ExchangeProcess exchange(one_dsp(dsp.port()));
  exchange.rewrite("dsps:\n  - { nam: d, endpoint: \"http://127.0.0.1:1/\" }\n");
  const auto refused = exchange.admin().post("/admin/reload", "");
  EXPECT_GE(refused.status(), 400);
  EXPECT_NE(refused.body.find("dsps[0].nam: is an unknown key; \"name\" is near"),
            std::string::npos)
      << refused.body;
  EXPECT_EQ(exchange.bid_request(request(300)).status(), 200);
  EXPECT_EQ(dsp.calls(), 1U);
  exchange.rewrite(one_dsp(dsp.port()) + "recorder: { path: /tmp/elsewhere }\n");
  EXPECT_NE(exchange.admin().post("/admin/reload", "").body.find("restart"), std::string::npos);
  exchange.rewrite(one_dsp(dsp.port()), ", allow_remote: true");
  EXPECT_NE(exchange.admin().post("/admin/reload", "").body.find("admin.allow_remote: cannot"),
            std::string::npos)
      << "not in silence";
}

TEST(Reload, DropsNoAuction) {
  FakeDsp dsp([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1"))}; });
  const std::string config = one_dsp(dsp.port());
  ExchangeProcess exchange(config);
  std::atomic<int> bad{0};
  std::atomic<bool> ending{false};
  std::thread caller([&] {
    while (!ending) {
      bad += exchange.bid_request(request(500)).status() == 200 ? 0 : 1;
    }
  });
  for (int i = 0; i < 20; ++i) {
    exchange.rewrite(config + fmt::format("timing: {{ tmax_default: {}ms }}\n", 100 + i));
    EXPECT_EQ(exchange.admin().post("/admin/reload", "").status(), 200);
  }
  ending = true;
  caller.join();
  EXPECT_EQ(bad, 0);
}

TEST(Stop, AnswersWhatIsInFlightAndExitsZero) {
  FakeDsp hangs([](const Message&) { return FakeDsp::Answer{.bytes = "", .hang = true}; });
  ExchangeProcess exchange(one_dsp(hangs.port()));
  Message answer;
  std::thread caller([&] { answer = exchange.bid_request(request(800)); });
  const auto deadline = Clock::now() + 5s;
  while (hangs.calls() == 0 && Clock::now() < deadline) {
    (void)exchange.metrics();
  }
  EXPECT_EQ(exchange.stop(), 0);
  caller.join();
  EXPECT_EQ(answer.status(), 204);
}

TEST(Metrics, AreWellFormedAndNameEveryCircuit) {
  FakeDsp dsp([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1"))}; });
  ExchangeProcess exchange(one_dsp(dsp.port()));
  EXPECT_EQ(exchange.bid_request(request(300)).status(), 200);
  const auto answer = exchange.admin().call("GET", "/metrics");
  EXPECT_EQ(answer.status(), 200);
  const std::regex line(
      R"((# (HELP|TYPE) [a-z_]+ .*|[a-z_]+(\{([a-z_]+="[^"]*",?)+\})? [0-9.e+-]+))");
  std::istringstream page(answer.body);
  size_t lines = 0;
  for (std::string text; std::getline(page, text); ++lines) {
    EXPECT_TRUE(std::regex_match(text, line)) << text;
  }
  EXPECT_GT(lines, 100U);
  for (const char* name :
       {"spillway_exchange_auctions_total 1", "spillway_exchange_fills_total 1",
        "spillway_exchange_circuit_state{dsp=\"d\"", "spillway_exchange_dsp_latency_seconds_bucket",
        "spillway_exchange_late_dsp_answers_total", "spillway_exchange_queue_age_seconds_count 1",
        "spillway_exchange_recorder_dropped_total 0",
        "spillway_exchange_deadline_misses_total 0"}) {
    EXPECT_NE(answer.body.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(exchange.admin().call("GET", "/healthz").status(), 200);
  EXPECT_EQ(exchange.admin().call("GET", "/readyz").status(), 200);
}

TEST(Load, CountsWhatWasAnsweredWellAndNotWhatWasInvalid) {
  FakeDsp dsp([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1"))}; });
  ExchangeProcess exchange(one_dsp(dsp.port()));
  EXPECT_EQ(exchange.bid_request(request(300)).status(), 200);
  EXPECT_EQ(exchange.bid_request("{}").status(), 400);
  const auto answer = exchange.admin().call("GET", "/load");
  EXPECT_EQ(answer.status(), 200);
  EXPECT_NE(answer.body.find(R"({"requests":2,"successes":1,"failures":0,"in_flight":0,"limit":)"),
            std::string::npos)
      << answer.body;
  // One answer came since the start: it is the p95.
  const size_t at = answer.body.find("\"p95_ms\":");
  ASSERT_NE(at, std::string::npos) << answer.body;
  EXPECT_GT(std::atof(answer.body.c_str() + at + 9), 0) << answer.body;
}

TEST(Recorder, WritesALogThatReplaysByteForByte) {
  std::atomic<int> number{0};
  FakeDsp mixed([&](const Message&) {
    switch (number++ % 6) {
      case 0:
        return FakeDsp::Answer{.bytes = ok(bid_body("1.25"))};
      case 1:
        return FakeDsp::Answer{.bytes = std::string(kNoContent)};
      case 2:
        return FakeDsp::Answer{.bytes = ok("not json")};
      case 3:
        return FakeDsp::Answer{.bytes = "", .hang = false, .close = true};
      case 4:
        return FakeDsp::Answer{.bytes = "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"};
      default:
        return FakeDsp::Answer{.bytes = ok(bid_body("0.1"))};
    }
  });
  FakeDsp steady([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("0.8", "t"))}; });
  const TemporaryFile log;
  ExchangeProcess exchange(fmt::format(
      "recorder: {{ path: {} }}\nhouse_ads: [{{ w: 300, h: 250, adm: house }}]\n{}  - {{ name: t, "
      "endpoint: \"http://127.0.0.1:{}/\" }}\n",
      log.path(), one_dsp(mixed.port()), steady.port()));
  for (int i = 0; i < 120; ++i) {
    const auto body =
        i % 10 == 9 ? std::string("{") : request(300, i % 2 == 0 ? R"(,"test":1)" : "");
    EXPECT_NE(exchange.bid_request(body).status(), 0);
  }
  EXPECT_EQ(exchange.stop(), 0);
  const auto replay =
      run_program({SPILLWAY_BINARY_DIR "/spillway", "replay", log.path(), "--json"});
  EXPECT_EQ(replay.exit_code, 0) << replay.out << replay.err;
  EXPECT_NE(replay.out.find(R"("auctions":120,"same":120,"different":0)"), std::string::npos)
      << replay.out;
  const auto explain =
      run_program({SPILLWAY_BINARY_DIR "/spillway", "explain", log.path(), "req-1"});
  EXPECT_EQ(explain.exit_code, 0);
  EXPECT_NE(explain.out.find("req-1"), std::string::npos);
  const auto missing =
      run_program({SPILLWAY_BINARY_DIR "/spillway", "explain", log.path(), "none"});
  EXPECT_EQ(missing.exit_code, 1);
}

TEST(Command, RefusesAProcessorItWasNotBuiltForBeforeAnythingElseRuns) {
  const auto refused = run_program({SPILLWAY_BINARY_DIR "/tests/old_processor"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(refused.err.starts_with("spillway: this build needs a processor of x86-64-v3"))
      << refused.err;
  EXPECT_EQ(refused.err.find("ran"), std::string::npos) << refused.err;
  // The same check stands in every part that is installed.
  for (const char* part : {"exchange", "replay", "explain"}) {
    const auto program = std::string(SPILLWAY_BINARY_DIR "/libexec/spillway-") + part;
    std::ifstream file(program, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(bytes.find(".preinit_array"), std::string::npos) << part;
    EXPECT_NE(bytes.find("this build needs a processor of"), std::string::npos) << part;
  }
}

TEST(Command, SaysWhatIsWrongAndHowItEnds) {
  const std::string spillway = SPILLWAY_BINARY_DIR "/spillway";
  const auto help = run_program({spillway, "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.out.find("exchange"), std::string::npos);
  const auto typo = run_program({spillway, "exchnage"});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_NE(typo.err.find("exchange"), std::string::npos);
  EXPECT_EQ(run_program({spillway, "exchange"}).exit_code, 2);
  EXPECT_EQ(run_program({spillway, "exchange", "--help"}).exit_code, 0);
  const TemporaryFile bad("dsps: [{ name: A }]\n");
  const auto check = run_program({spillway, "exchange", "--config", bad.path(), "--check-config"});
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_NE(check.err.find(":1: dsps[0].name"), std::string::npos) << check.err;
  const TemporaryFile good("dsps: [{ name: a, endpoint: \"https://h/\", expect: { qps: 100 } }]\n");
  const auto plan = run_program({spillway, "exchange", "--config", good.path(), "--check-config"});
  EXPECT_EQ(plan.exit_code, 0);
  EXPECT_NE(plan.out.find("8.0 in flight"), std::string::npos) << plan.out;
  const auto json =
      run_program({spillway, "exchange", "--config", bad.path(), "--check-config", "--json"});
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_NE(json.out.find(R"("ok":false)"), std::string::npos);
}

TEST(Command, EndsWithTwoWhateverPartIsUsedWrongly) {
  const std::string spillway = SPILLWAY_BINARY_DIR "/spillway";
  const std::string target = "http://127.0.0.1:1/";
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"dsp"},
           {"dsp", "--bogus"},
           {"load"},
           {"load", "--target", target, "--rate", "0"},
           {"load", "--target", target, "--rate", "nan"},
           {"load", "--target", target, "--every", "x", "--duration", "10ms"},
           {"demo", "--rate", "nan"},
           {"demo", "--seconds", "0"},
           {"replay"},
           {"explain", "log"}}) {
    std::vector<std::string> command{spillway};
    command.insert(command.end(), wrong.begin(), wrong.end());
    const auto ended = run_program(command);
    EXPECT_EQ(ended.exit_code, 2) << fmt::format("{}", fmt::join(wrong, " "));
    EXPECT_NE(ended.err, "");
  }
}

}  // namespace
}  // namespace spillway::e2e
