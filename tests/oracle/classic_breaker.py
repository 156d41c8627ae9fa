#!/usr/bin/env python3
"""A second opinion on `rules: classic`: a small model of the breaker that resilience4j made known, written from its
described behaviour and from nothing else, and random traces to compare `spillway trace breaker` with. Stdlib only.

    python3 classic_breaker.py PROGRAM [--traces 200] [--events 400] [--seed N]

Every trace has a configuration of its own; the states after each event and the admissions must be the same. The model
deviates from resilience4j on purpose in four places, marked DEVIATION n below, where ours does and says so:

1. time never goes back: an event with an earlier time happens at the latest time seen;
2. the end of a call that was admitted in an earlier state changes nothing (there: it counts in the current state);
3. a half-open call that is cancelled gives its permission back, however it ended;
4. a half-open permission that is not returned in five minutes is taken back (there: never).

A disagreement prints the seed, the configuration and the event, and leaves the trace in the working directory.
"""
import argparse
import collections
import fractions
import random
import subprocess
import sys
import tempfile

CLOSED, OPEN, HALF_OPEN = "CLOSED", "OPEN", "HALF_OPEN"
LEASE_MS = 300_000


class CountWindow:
    """The last `size` calls."""

    def __init__(self, size):
        self.calls = collections.deque(maxlen=size)

    def add(self, _now_ms, failed, slow):
        self.calls.append((failed, slow))

    def totals(self):
        return len(self.calls), sum(f for f, _ in self.calls), sum(s for _, s in self.calls)


class TimeWindow:
    """The calls of the last `size` whole seconds, the present one among them."""

    def __init__(self, size):
        self.size = size
        self.seconds = {}

    def add(self, now_ms, failed, slow):
        second = now_ms // 1000
        self.seconds = {s: t for s, t in self.seconds.items() if s > second - self.size}
        calls, failures, slows = self.seconds.get(second, (0, 0, 0))
        self.seconds[second] = (calls + 1, failures + failed, slows + slow)

    def totals(self):
        return tuple(sum(t[i] for t in self.seconds.values()) for i in range(3))


class Breaker:
    def __init__(self, config):
        self.config = config
        self.now = 0
        self.generation = 0
        self.openings = 0
        self.close()

    def close(self):
        self.state = CLOSED
        self.openings = 0
        self.generation += 1
        kind = CountWindow if self.config["type"] == "count" else TimeWindow
        self.window = kind(self.config["size"])
        self.needed = self.config["min_calls"]
        if self.config["type"] == "count":
            self.needed = min(self.needed, self.config["size"])

    def trip(self):
        self.state = OPEN
        self.generation += 1
        self.openings += 1
        wait = self.config["open_ms"] * fractions.Fraction(self.config["open_growth"]) ** (self.openings - 1)
        self.retry_at = self.now + min(wait, self.config["open_cap_ms"])

    def half_open(self):
        self.state = HALF_OPEN
        self.generation += 1
        permitted = self.config["half_open_calls"]
        self.window = CountWindow(permitted)
        self.needed = min(self.needed, permitted)
        self.permissions = permitted
        self.out = {}

    def start(self, at_ms, call):
        """The generation the call belongs to, or None when it is refused."""
        self.now = max(self.now, at_ms)  # DEVIATION 1
        if self.state == OPEN and self.now > self.retry_at:
            self.half_open()
        if self.state == OPEN:
            return None
        if self.state == HALF_OPEN:
            for lost in [c for c, since in self.out.items() if self.now - since >= LEASE_MS]:  # DEVIATION 4
                del self.out[lost]
                self.permissions += 1
            if self.permissions == 0:
                return None
            self.permissions -= 1
            self.out[call] = self.now
        return self.generation

    def end(self, at_ms, call, generation, outcome, took_ms):
        self.now = max(self.now, at_ms)  # DEVIATION 1
        if generation != self.generation:  # DEVIATION 2
            return
        if self.state == HALF_OPEN and self.out.pop(call, None) is None:  # DEVIATION 4
            return
        if outcome == "cancelled":
            if self.state == HALF_OPEN:
                self.permissions += 1  # DEVIATION 3
            return
        self.window.add(self.now, outcome == "error", outcome == "slow" or took_ms > self.config["slow_ms"])
        calls, failed, slow = self.window.totals()
        if calls < self.needed:
            return
        if 100 * failed >= self.config["failure_percent"] * calls or 100 * slow >= self.config["slow_percent"] * calls:
            self.trip()
        elif self.state == HALF_OPEN:
            self.close()


def random_config(rng):
    return {
        "type": rng.choice(["count", "time"]),
        "size": rng.choice([2, 3, 5, 10, 20, 50]),
        "min_calls": rng.choice([1, 2, 5, 10, 30]),
        "failure_percent": rng.choice([1, 7, 10, 20, 30, 50, 60, 70, 100]),
        "slow_percent": rng.choice([10, 29, 30, 50, 80, 100]),
        "slow_ms": rng.choice([20, 50, 100]),
        "half_open_calls": rng.choice([1, 2, 3, 5, 10]),
        "open_ms": rng.choice([100, 500, 1000, 5000]),
        "open_growth": rng.choice([1, 1, 1.5, 2]),
        "open_cap_ms": rng.choice([3_600_000, 2000]),
    }


def yaml_of(config, rng):
    # A rate may be written as a share or in percent; 1 would be the share.
    def rate(percent):
        return percent / 100 if percent <= 1 or rng.random() < 0.5 else percent
    return (f"rules: classic\nwindow: {{ type: {config['type']}, size: {config['size']}, "
            f"min_calls: {config['min_calls']} }}\nfailure_rate: {rate(config['failure_percent'])}\n"
            f"slow_rate: {rate(config['slow_percent'])}\nslow_ms: {config['slow_ms']}\n"
            f"half_open_calls: {config['half_open_calls']}\nopen_ms: {config['open_ms']}\n"
            f"open_growth: {config['open_growth']}\nopen_cap_ms: {config['open_cap_ms']}\n")


def random_trace(rng, config, events):
    """Lines, and what the model says to each. Moods change the share of bad calls and the pace."""
    breaker = Breaker(config)
    now, lines, said, alive, number = 0, [], [], {}, 0
    bad, pace = 0.1, 20
    for _ in range(events):
        if rng.random() < 0.03:
            bad, pace = rng.choice([0, 0.05, 0.3, 0.6, 1]), rng.choice([0, 1, 20, 200, 1500])
        step = rng.randint(0, pace)
        if rng.random() < 0.01:  # Exactly at, just after, or far beyond a deadline; or back.
            step = rng.choice([config["open_ms"], config["open_ms"] + 1, 1000, LEASE_MS, -rng.randint(1, 5000)])
        now = max(0, now + step)
        if not alive or rng.random() < 0.52:
            number += 1
            call = f"c{number}"
            alive[call] = (breaker.start(now, call), now)
            lines.append(f"{now} start {call}")
            said.append(f"{breaker.state} {'refused' if alive[call][0] is None else 'admitted'}")
        else:
            call = rng.choice(list(alive)) if rng.random() < 0.3 else next(iter(alive))
            generation, _since = alive.pop(call)
            outcome = rng.choice(["error", "slow"]) if rng.random() < bad else "ok"
            outcome = "cancelled" if rng.random() < 0.05 else outcome
            took = rng.choice([1, config["slow_ms"] - 1, config["slow_ms"], config["slow_ms"]]
                              + ([config["slow_ms"] + 1] if rng.random() < bad else []))
            took = config["slow_ms"] + 5 if outcome == "slow" and rng.random() < 0.8 else took
            if generation is not None:
                breaker.end(now, call, generation, outcome, took)
            else:
                breaker.now = max(breaker.now, now)
            lines.append(f"{now} end {call} {outcome} {took}")
            said.append(breaker.state)
    return lines, said


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", nargs="+", help="what prints the states: spillway-trace")
    parser.add_argument("--traces", type=int, default=200)
    parser.add_argument("--events", type=int, default=400)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    moves = collections.Counter()
    for number in range(options.traces):
        rng = random.Random(options.seed * 1_000_003 + number)
        config = random_config(rng)
        yaml = yaml_of(config, rng)
        lines, said = random_trace(rng, config, options.events)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(yaml)
            file.flush()
            ran = subprocess.run([*options.program, "breaker", "--config", file.name], text=True, capture_output=True,
                                 input="\n".join(lines) + "\n", check=False)
        got = ran.stdout.splitlines()
        if ran.returncode != 0 or got != said:
            at = next((i for i, (a, b) in enumerate(zip(got, said)) if a != b), min(len(got), len(said)))
            print(f"trace {number} of seed {options.seed} differs at line {at + 1}: \"{lines[at]}\": "
                  f"the model says {said[at]}, the program {got[at] if at < len(got) else ran.stderr}\n{yaml}")
            with open("classic_breaker_failure.txt", "w", encoding="utf-8") as out:
                out.write(yaml + "\n".join(f"{a}  # {b}" for a, b in zip(lines, said)) + "\n")
            return 1
        states = [s.split()[0] for s in said]
        moves.update(a + ">" + b for a, b in zip(states, states[1:]) if a != b)
    print(f"{options.traces} traces of {options.events} events agree; moves: {dict(moves)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
