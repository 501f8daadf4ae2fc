"""What a fresh process pays before it does anything: imports, and compositions cold, warm and kept.

``python starts.py [--rounds N] [--beside PYTHON] [CASE ...]`` prints a line per case: CPU milliseconds (user and
system) and the modules that are imported. Each run is a process of its own. `--beside` names the interpreter of an
environment with another state of newel; the two take turns, and the last column is their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from statistics import median

API = "import newel\nfor name in dir(newel): getattr(newel, name)\n"
HOST = "from newel_compose import compose, compose_once\n"
#: Case -> what runs before the clock starts, what is measured, and how often.
CASES = {
    "import": ("", "import newel", 1),
    "import_api": ("", API, 1),
    "import_host": ("", HOST, 1),
    **{
        f"{case}_{name}": (before.format(name=name), measured.format(name=name), times)
        for name in ("minimal", "adk", "standard")
        for case, before, measured, times in (
            ("cold", HOST, "compose({name!r})", 1),
            ("cold_after_api", API + HOST, "compose({name!r})", 1),
            ("warm", HOST + "compose({name!r})", "compose({name!r})", 5),
            ("kept", HOST + "compose_once({name!r})", "compose_once({name!r})", 20),
        )
    },
}
SCRIPT = """
import sys, time
before, measured, times = {case!r}
exec(before)
code = compile(measured, "measured", "exec")
start = time.process_time() if before else 0.0  # an import is told with the start of the process
for _ in range(times): exec(code)
print([(time.process_time() - start) * 1000 / times, len(sys.modules)])
"""


def run(python: str, case: str, folder: str) -> tuple[float, int]:
    """Milliseconds and modules of one run. `folder` chooses no distribution."""
    # With byte code kept, as in any installation: else an import compiles everything anew.
    hidden = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "NEWEL_DISTRIBUTION")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [python, "-c", SCRIPT.format(case=CASES[case])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder, env=environment)
    spent, modules = json.loads(done.stdout)
    return spent, modules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one of: {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--beside", metavar="PYTHON")
    options = parser.parse_args()
    pythons = [sys.executable, *([options.beside] if options.beside else [])]
    with tempfile.TemporaryDirectory() as folder:
        for case in options.cases or CASES:
            for python in pythons:
                run(python, case, folder)  # compiles what is not compiled yet, and counts for nothing
            rounds = [[run(python, case, folder) for python in pythons] for _ in range(options.rounds)]
            sides = [(median(side[0] for side in sides), sides[0][1]) for sides in zip(*rounds, strict=True)]
            told = "".join(f"{spent:10.1f} ms{modules:6} modules" for spent, modules in sides)
            ratio = f"{sides[0][0] / sides[1][0]:8.2f}x" if options.beside else ""
            print(f"{case:<24}{told}{ratio}", flush=True)


if __name__ == "__main__":
    main()
