#!/usr/bin/env python3
"""Fails when docs/resilience_traps.md names a test that no source has, or more than eight rules. Stdlib only.

    python3 tools/check_traps.py [--complete]      (--complete: every one of the 76 rows must have a line)
"""
import pathlib
import re
import sys

ROWS = {f"{kind}{n}" for kind, last in dict(B=19, W=15, C=10, L=16, O=11, H=5).items() for n in range(1, last + 1)}
ROOT = pathlib.Path(__file__).resolve().parent.parent
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P)\(\s*(\w+),\s*(\w+)\s*\)", re.M)

table = re.findall(r"^\| (\w+) \| (.+) \|$", (ROOT / "docs/resilience_traps.md").read_text(), re.M)[1:]
tests = {f"{suite}.{name}" for top in ("src", "tests") for file in (ROOT / top).rglob("*_test.cc")
         for suite, name in TEST.findall(file.read_text())}
wrong = [f"{row}: no such row" for row, _ in table if row not in ROWS]
wrong += [f"{row}: named twice" for row in {row for row, _ in table} if [r for r, _ in table].count(row) > 1]
wrong += [f"{row}: no test {name}" for row, says in table for name in re.findall(r"`(\w+\.\w+)`", says) if name not in tests]
wrong += [f"{row}: neither a test nor a rule" for row, says in table if "`" not in says and not says.startswith("rule: ")]
rules = [row for row, says in table if says.startswith("rule: ")]
if len(rules) > 8:
    wrong.append(f"more than eight rules: {rules}")
missing = sorted(ROWS - {row for row, _ in table}, key=lambda row: (row[0], int(row[1:])))
if missing and "--complete" in sys.argv:
    wrong.append(f"no line for {' '.join(missing)}")
print("\n".join(wrong) or f"traps ok: {len(table)} rows, {len(rules)} by rule; no line for {' '.join(missing) or 'none'}")
sys.exit(bool(wrong))
