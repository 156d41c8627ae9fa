#include "app/trace/breaker_trace.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/config/guard_config.h"
#include "app/config/reader.h"
#include "app/trace/tracer.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/time.h"
#include "resilience/classic.h"
#include "resilience/classic_rules.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::app {
namespace {

using base::Duration;
using base::Instant;
using namespace std::chrono_literals;
using Result = resilience::ClassicBreaker::Result;

constexpr Duration kTick = 100ms;
/// Ticks made up for after a pause; the rest is one jump, as after a suspended process.
constexpr int kMostTicks = 6'000;

constexpr std::array<std::string_view, 4> kOutcomes{"ok", "error", "slow", "cancelled"};

std::string_view state_text(resilience::State state) {
  constexpr std::array<std::string_view, 4> kNames{"CLOSED", "OPEN", "HALF_OPEN", "RAMPING"};
  return kNames[static_cast<size_t>(state)];
}

/// One call of a trace under way; derived by what admits it.
struct Call {
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;
  virtual void end(Instant now, Result result, Duration took) = 0;
};

/// What a trace is run through.
struct Subject {
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;
  virtual void advance(Instant now) = 0;
  /// Null: refused.
  virtual std::unique_ptr<Call> start(Instant now, std::string_view id) = 0;
  [[nodiscard]] virtual resilience::State state() const = 0;
};

class ClassicCall : public Call {
 public:
  ClassicCall(resilience::ClassicBreaker& breaker, resilience::ClassicBreaker::Place place)
      : breaker_(breaker), place_(place) {}

  void end(Instant now, Result result, Duration took) override {
    breaker_.finish(now, place_, result, took);
  }

 private:
  resilience::ClassicBreaker& breaker_;
  resilience::ClassicBreaker::Place place_;
};

class ClassicSubject : public Subject {
 public:
  ClassicSubject(const resilience::ClassicRules& rules, uint64_t seed) : breaker_(rules, seed) {}

  void advance(Instant /*now*/) override {}

  std::unique_ptr<Call> start(Instant now, std::string_view /*id*/) override {
    const auto place = breaker_.acquire(now);
    return place ? std::make_unique<ClassicCall>(breaker_, *place) : nullptr;
  }

  [[nodiscard]] resilience::State state() const override { return breaker_.state(); }

 private:
  resilience::ClassicBreaker breaker_;
};

class GuardCall : public Call {
 public:
  explicit GuardCall(resilience::Permit permit) : permit_(std::move(permit)) {}

  void end(Instant now, Result result, Duration took) override {
    constexpr std::array kMeaning{resilience::Outcome::kOk, resilience::Outcome::kServerError,
                                  resilience::Outcome::kSlow, resilience::Outcome::kCancelled};
    auto outcome = kMeaning[static_cast<size_t>(result)];
    if (result == Result::kOk && took > permit_.terms().slow_after) {
      outcome = resilience::Outcome::kSlow;
    }
    permit_.finish(now, outcome);
  }

 private:
  resilience::Permit permit_;
};

class GuardSubject : public Subject {
 public:
  GuardSubject(const resilience::Settings& settings, Duration offered, uint64_t seed)
      : guard_("traced/default/call", settings, 1, seed, Instant{}), offered_(offered) {}

  void advance(Instant now) override {
    next_tick_ = std::max(next_tick_, now - kMostTicks * kTick);
    for (; next_tick_ <= now; next_tick_ += kTick) {
      moves_.clear();
      guard_.tick(next_tick_, moves_);
    }
  }

  std::unique_ptr<Call> start(Instant now, std::string_view id) override {
    auto permit = guard_.admit(
        0, {.now = now, .offered = offered_, .request_hash = base::hash64(std::string(id))});
    return permit ? std::make_unique<GuardCall>(std::move(*permit)) : nullptr;
  }

  [[nodiscard]] resilience::State state() const override { return guard_.peek().state; }

 private:
  resilience::Guard guard_;
  Duration offered_;
  Instant next_tick_{kTick};
  std::vector<resilience::Transition> moves_;
};

class BreakerTrace : public Tracer {
 public:
  explicit BreakerTrace(std::unique_ptr<Subject> subject) : subject_(std::move(subject)) {}

  base::Result<std::string, std::string> line(std::string_view text) override {
    const auto fields = fields_of(text);
    if (fields.size() < 3) {
      return std::unexpected("must be \"t_ms start id\" or \"t_ms end id outcome duration_ms\"");
    }
    const auto at = parse_trace_ms("t_ms", fields[0]);
    if (!at) {
      return std::unexpected(at.error());
    }
    now_ = std::max(now_, Instant(*at));
    subject_->advance(now_);
    if (fields[1] == "start") {
      return fields.size() == 3 ? start(fields[2])
                                : std::unexpected("a start has three fields: t_ms start id");
    }
    if (fields[1] == "end") {
      return fields.size() == 5
                 ? end(fields)
                 : std::unexpected("an end has five fields: t_ms end id outcome duration_ms");
    }
    return std::unexpected(
        fmt::format("the second field must be start or end, is \"{}\"", fields[1]));
  }

 private:
  base::Result<std::string, std::string> start(std::string_view id) {
    const auto known = calls_.find(id);
    if (known != calls_.end() && known->second != nullptr) {
      return std::unexpected(fmt::format("call \"{}\" has not ended yet", id));
    }
    auto call = subject_->start(now_, id);
    const bool admitted = call != nullptr;
    calls_.insert_or_assign(std::string(id), std::move(call));
    return fmt::format("{} {}", state_text(subject_->state()), admitted ? "admitted" : "refused");
  }

  base::Result<std::string, std::string> end(const std::vector<std::string_view>& fields) {
    const auto call = calls_.find(fields[2]);
    if (call == calls_.end()) {
      return std::unexpected(fmt::format("call \"{}\" has not started", fields[2]));
    }
    const auto outcome = std::ranges::find(kOutcomes, fields[3]);
    if (outcome == kOutcomes.end()) {
      return std::unexpected(
          fmt::format("the outcome must be ok, error, slow or cancelled, is \"{}\"", fields[3]));
    }
    const auto took = parse_trace_ms("duration_ms", fields[4]);
    if (!took) {
      return std::unexpected(took.error());
    }
    if (call->second != nullptr) {
      call->second->end(now_, static_cast<Result>(outcome - kOutcomes.begin()), *took);
    }
    calls_.erase(call);
    return std::string(state_text(subject_->state()));
  }

  Instant now_{};
  std::unique_ptr<Subject> subject_;
  std::map<std::string, std::unique_ptr<Call>, std::less<>> calls_;  ///< Null: it was refused.
};

/// Bare milliseconds, as the trace itself has them.
void read_ms(ConfigReader& reader, std::string_view key, Duration& out, double low, double high) {
  double ms = base::to_ms(out);
  reader.read(key, ms, low, high);
  out = std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(ms));
}

/// 0.5 and 50 are both one half: above 1 a rate is in percent.
void read_rate(ConfigReader& reader, std::string_view key, double& out) {
  double rate = out;
  reader.read(key, rate, 0.0, 100.0);
  if (rate <= 0) {
    reader.problem(key, "must be above 0: a share up to 1, or a percentage");
    return;
  }
  out = rate > 1 ? rate / 100 : rate;
}

void read_window(ConfigReader& reader, std::string_view prefix, resilience::ClassicRules& rules) {
  const auto key = [&](std::string_view name) { return std::string(prefix) + std::string(name); };
  auto kind = static_cast<size_t>(rules.window);
  reader.read_choice(key("type"), {"count", "time"}, kind);
  rules.window = static_cast<resilience::ClassicRules::Window>(kind);
  const bool time = rules.window == resilience::ClassicRules::Window::kTime;
  reader.read(key("size"), rules.size, time ? 2 : 1, time ? 3'600 : 10'000);
  reader.read(key("min_calls"), rules.min_calls, 1, 10'000);
}

resilience::ClassicRules read_classic(ConfigReader& reader) {
  resilience::ClassicRules rules;
  if (reader.has("window")) {
    ConfigReader window = reader.section("window");
    read_window(window, "", rules);
    window.finish();
  } else {
    read_window(reader, "window.", rules);
  }
  read_rate(reader, "failure_rate", rules.failure_rate);
  read_rate(reader, "slow_rate", rules.slow_rate);
  read_ms(reader, "slow_ms", rules.slow, 0, 600'000);
  read_ms(reader, "p99_ceiling_ms", rules.p99_ceiling, 0, 600'000);
  reader.read("half_open_calls", rules.half_open_calls, 1, 1'000);
  read_ms(reader, "open_ms", rules.open, 0, 3'600'000);
  reader.read("open_growth", rules.open_growth, 1.0, 10.0);
  reader.read("open_jitter", rules.open_jitter, 0.0, 0.99);
  read_ms(reader, "open_cap_ms", rules.open_cap, 0, 3'600'000);
  return rules;
}

}  // namespace

std::unique_ptr<Tracer> make_breaker_trace(std::string_view yaml,
                                           std::vector<ConfigProblem>& problems) {
  const size_t before = problems.size();
  ConfigReader reader(yaml, problems);
  size_t rules = 0;
  reader.read_choice("rules", {"spillway", "classic"}, rules);
  uint32_t seed = 1;
  reader.read("seed", seed, 0, UINT32_MAX);
  std::unique_ptr<Subject> subject;
  if (rules == 1) {
    subject = std::make_unique<ClassicSubject>(read_classic(reader), seed);
  } else {
    Duration offered = 300ms;
    reader.read("offered", offered, 1ms, 60s);
    resilience::SettingsPatch patch;
    ConfigReader guard = reader.section("guard");
    read_guard(guard, patch);
    guard.finish();
    subject = std::make_unique<GuardSubject>(flatten({&patch}), offered, seed);
  }
  reader.finish();
  return problems.size() == before ? std::make_unique<BreakerTrace>(std::move(subject)) : nullptr;
}

}  // namespace spillway::app
