#!/usr/bin/env python3
"""Vegas, Gradient2 and AIMD of Netflix's concurrency-limits, written from the prose of their formulas alone, against
`spillway-trace limiter` with `mode: netflix`, sample for sample.

    python3 tests/oracle/limiters.py build/release/libexec/spillway-trace [--traces 45] [--samples 1500] [--seed N]
"""

import argparse
import math
import random
import subprocess
import sys
import tempfile


class Vegas:
    def __init__(self, initial, most, jitter):
        self.limit, self.most, self.jitter = float(initial), most, jitter
        self.n, self.base = 0, 0

    def sample(self, rtt, inflight, drop):
        limit = self.limit
        self.n += 1
        if self.n >= self.jitter * 30 * limit:
            self.base, self.n = rtt, 0
            return
        if self.base == 0 or rtt < self.base:
            self.base = rtt
            return
        unit = max(1, int(math.log10(int(limit))))
        queue = math.ceil(limit * (1 - self.base / rtt))
        if drop:
            limit -= unit
        elif 2 * inflight < limit:
            return
        elif queue <= unit:
            limit += 6 * unit
        elif queue < 3 * unit:
            limit += unit
        elif queue > 6 * unit:
            limit -= unit
        self.limit = min(max(limit, 1.0), self.most)


class Gradient2:
    def __init__(self, initial, most, _jitter):
        self.limit, self.most = float(initial), most
        self.first, self.long = [], 0.0

    def sample(self, rtt, inflight, _drop):
        if len(self.first) < 10:
            self.first.append(float(rtt))
            self.long = sum(self.first) / len(self.first)
        else:
            weight = 2.0 / 601
            self.long = self.long * (1 - weight) + rtt * weight
        usual = self.long
        if usual / rtt > 2:
            self.long *= 0.95
        if inflight < self.limit / 2:
            return
        gradient = max(0.5, min(1.0, 1.5 * usual / rtt))
        wanted = gradient * self.limit + 4
        self.limit = max(20.0, min(self.most, self.limit * (1 - 0.2) + wanted * 0.2))


class Aimd:
    def __init__(self, initial, most, _jitter):
        self.limit, self.most = initial, most

    def sample(self, rtt, inflight, drop):
        if drop or rtt > 5_000_000_000:
            self.limit = int(self.limit * 0.9)
        elif 2 * inflight >= self.limit:
            self.limit += 1
        self.limit = min(self.most, max(20, self.limit))


LAWS = {"vegas": Vegas, "gradient2": Gradient2, "aimd": Aimd}


def make_trace(rng, samples, limit):
    """Calm, queueing, jumpy and dropping stretches; in-flight anywhere round the limit, known to the model."""
    lines, base, at = [], rng.randrange(200_000, 80_000_000), 0
    stretch, drops = 1.0, 0.0
    for _ in range(samples):
        if rng.random() < 0.01:
            stretch = rng.choice([1.0, 1.0, 1.2, 1.5, 2.0, 4.0, 100.0])
            drops = rng.choice([0.0, 0.0, 0.0, 0.02, 0.3, 1.0])
        rtt = max(1, int(base * stretch * math.exp(rng.gauss(0, 0.15))))
        inflight = max(1, int(limit() * rng.choice([0.2, 0.49, 0.5, 0.5, 0.9, 1.0, 1.1])))
        drop = int(rng.random() < drops)
        at += rng.randrange(0, 20)
        lines.append((at, rtt, inflight, drop))
        yield lines[-1]


def play(binary, rng, name, samples):
    most = rng.choice([1000, 1000, 200, 50] if name == "vegas" else [200, 200, 1000, 60])
    initial = rng.choice([20, 20, rng.randrange(1, most + 1)])
    jitter = rng.choice([0.5, 0.75, 0.9, round(rng.uniform(0.5, 1), 6)])
    model = LAWS[name](initial, most, jitter)
    lines, expected = [], []
    for line in make_trace(rng, samples, lambda: model.limit):
        model.sample(*line[1:])
        lines.append(" ".join(map(str, line)))
        expected.append(str(int(model.limit)))
    text = f"algorithm: {name}\nmode: netflix\ninitial: {initial}\nmax: {most}\nvegas: {{probe_jitter: {jitter}}}\n"
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write(text)
        config.flush()
        run = subprocess.run([binary, "limiter", "--config", config.name], input="\n".join(lines) + "\n",
                             capture_output=True, text=True, check=False)
    got = run.stdout.split()
    if run.returncode != 0 or len(got) != len(expected):
        print(f"{text}status {run.returncode}, {len(got)} lines\n{run.stderr}", file=sys.stderr)
        return False, set()
    for number, (ours, theirs) in enumerate(zip(got, expected)):
        if ours != theirs:
            print(f"{text}line {number + 1} `{lines[number]}`: {ours}, the model has {theirs}", file=sys.stderr)
            return False, set()
    return True, set(expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--traces", type=int, default=45)
    parser.add_argument("--samples", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    rng = random.Random(args.seed)
    failed, limits = 0, {name: set() for name in LAWS}
    for number in range(args.traces):
        name = list(LAWS)[number % len(LAWS)]
        same, seen = play(args.binary, rng, name, args.samples)
        failed += not same
        limits[name] |= seen
    for name, seen in limits.items():
        print(f"{name}: {len(seen)} different limits seen")
        failed += args.traces >= 15 and len(seen) < 20
    print(f"{args.traces} traces of {args.samples} samples, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
