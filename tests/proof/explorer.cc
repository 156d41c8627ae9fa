#include "proof/explorer.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ucontext.h>

#include "resilience/proof.h"

namespace spillway::resilience {

void (*proof::before_step)(bool) = nullptr;
proof::SlotSteps proof::slot_steps = SlotSteps::kNone;

}  // namespace spillway::resilience

namespace spillway::interleave {

namespace {

constexpr size_t kStackBytes = size_t{128} * 1024;

/// An actor that can be left in front of each of its steps.
struct Fiber {
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(kStackBytes);
  const std::function<void()>* body = nullptr;
  bool done = false;
};

ucontext_t scheduler;
Fiber* running = nullptr;
bool counts_are_steps = false;

void leave(bool count) {
  if (running != nullptr && (counts_are_steps || !count)) {
    swapcontext(&running->context, &scheduler);
  }
}

void run_body() {
  (*running->body)();
  running->done = true;
}

void resume(Fiber& fiber) {
  running = &fiber;
  swapcontext(&scheduler, &fiber.context);
  running = nullptr;
}

void start(Fiber& fiber, const std::function<void()>& body) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = fiber.stack.size();
  fiber.context.uc_link = &scheduler;
  fiber.body = &body;
  fiber.done = false;
  makecontext(&fiber.context, run_body, 0);
  resume(fiber);  // up to its first step
}

/// One decision of a schedule: the `chosen`-th of `of` actors that could go on.
struct Choice {
  size_t chosen = 0;
  size_t of = 0;
};

/// Follows `choices` and adds first choices beyond them; the actors' numbers, a digit a step.
std::string play(World& world, std::vector<Fiber>& fibers, std::vector<Choice>& choices) {
  fibers.resize(world.actors.size());
  for (size_t i = 0; i < fibers.size(); ++i) {
    start(fibers[i], world.actors[i]);
  }
  std::string schedule;
  for (size_t step = 0;; ++step) {
    std::vector<size_t> able;
    for (size_t i = 0; i < fibers.size(); ++i) {
      if (!fibers[i].done) {
        able.push_back(i);
      }
    }
    if (able.empty()) {
      return schedule;
    }
    if (step == choices.size()) {
      choices.push_back({.chosen = 0, .of = able.size()});
    }
    const size_t actor = able[choices[step].chosen];
    schedule += static_cast<char>('0' + actor);
    resume(fibers[actor]);
  }
}

/// The next schedule in order; false when that was the last.
bool advance(std::vector<Choice>& choices) {
  while (!choices.empty() && choices.back().chosen + 1 == choices.back().of) {
    choices.pop_back();
  }
  if (choices.empty()) {
    return false;
  }
  ++choices.back().chosen;
  return true;
}

}  // namespace

Explored explore(const std::function<std::unique_ptr<World>()>& make, bool counts) {
  counts_are_steps = counts;
  Explored explored;
  std::vector<Fiber> fibers;
  std::vector<Choice> choices;
  do {
    const std::unique_ptr<World> world = make();
    resilience::proof::before_step = leave;
    const std::string schedule = play(*world, fibers, choices);
    resilience::proof::before_step = nullptr;
    world->check();
    ++explored.schedules;
    if (!world->wrong().empty() && explored.broken++ == 0) {
      explored.first = world->wrong() + " in " + schedule;
    }
  } while (advance(choices));
  return explored;
}

}  // namespace spillway::interleave
