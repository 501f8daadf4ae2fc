"""newel beside the floor: each case in turn, several rounds, medians and their ratio.

``python tests/benchmarks/compare.py [--rounds N] [--distribution NAME] [CASE ...]``. A case is a name of turns.py,
with parameters as in ``long_session:n=5000``. The exit status is 0 unless a case crashes: on a shared machine a
figure is a hint, and docs/explanation/benchmarks.md says how to read it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
CASES = (
    "import",
    "first_turn",
    "turn_text",
    "turn_tool",
    "turn_tool_many",
    "turn_tools_parallel",
    "long_session:n=10",
    "long_session:n=1000",
    "long_session:n=5000",
    "stream",
    "concurrent",
    "transfer",
    "sequential",
    "parallel",
    "mem_sessions",
    "persist",
)
#: The most that a case may cost, as a multiple of the floor.
LIMITS = {
    "import": 3.0,
    "turn_text": 2.5,
    "turn_tool": 2.5,
    "turn_tools_parallel": 3.0,
    "stream": 3.0,
    "transfer": 3.0,
    "sequential": 3.0,
    "parallel": 3.0,
}
#: Cases told in something else than CPU time: the key and the unit.
TOLD_IN = {"mem_sessions": ("rss_kb_per_session", "KB")}
#: The floor's store that promises what newel's does: every commit is on the disk, live sessions stay in memory.
FLOOR_ONLY = {"persist": ["backend=hotfull"]}


class CaseCrashed(Exception):
    """A benchmark process ended with an error; the message is its output."""


def run(script: str, case: str, environment: dict[str, str]) -> float:
    """One run of a case in a process of its own: CPU microseconds per operation, or what `TOLD_IN` says."""
    name, _, parameters = case.partition(":")
    extra = FLOOR_ONLY.get(name, []) if script == "floor.py" else []
    command = [sys.executable, str(HERE / script), name, *filter(None, parameters.split(",")), *extra]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise CaseCrashed(f"{script} {case}:\n{done.stdout}{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return float(result[TOLD_IN[name][0]] if name in TOLD_IN else result["us_per_op"])


def shown(value: float, unit: str) -> str:
    if unit != "us":
        return f"{value:,.1f} {unit}"
    return f"{value / 1000:,.1f} ms" if value >= 10_000 else f"{value:,.1f} us"


def compare(case: str, rounds: int, environment: dict[str, str]) -> str:
    """One line of the table."""
    name = case.partition(":")[0]
    for script in ("floor.py", "turns.py"):
        run(script, case, environment)  # compiles what is not compiled yet, and counts for nothing
    floor, ours = [], []
    for _ in range(rounds):
        floor.append(run("floor.py", case, environment))
        ours.append(run("turns.py", case, environment))
    ratio = median(ours) / median(floor)
    limit = LIMITS.get(name)
    verdict = "" if limit is None else f"at most {limit:.1f}: {'kept' if ratio <= limit else 'MISSED'}"
    unit = TOLD_IN.get(name, ("", "us"))[1]
    sides = "".join(f"{shown(median(side), unit):>12}" for side in (floor, ours))
    return f"{case:<22}{sides}{ratio:>8.2f}x  {verdict}".rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one of: {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--distribution", default="standard")
    options = parser.parse_args()
    # With byte code kept, as in any installation: else an import compiles everything anew.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["NEWEL_DISTRIBUTION"] = options.distribution
    print(f"{'case':<22}{'floor':>12}{'newel':>12}{'ratio':>9}", flush=True)
    crashed = 0
    for case in options.cases or CASES:
        try:
            print(compare(case, options.rounds, environment), flush=True)
        except CaseCrashed as error:
            crashed = 1
            print(f"{case:<22} crashed", flush=True)
            print(error, file=sys.stderr)
    return crashed


if __name__ == "__main__":
    sys.exit(main())
