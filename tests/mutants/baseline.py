"""Which tests reach which lines, how long each takes, and which fail without any change."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import coverage
import pytest

#: Runs tests, with what to do before each; gives each with whether it passed.
Run = Callable[[Sequence[pytest.Item], Callable[[pytest.Item], None]], Iterator[tuple[pytest.Item, bool]]]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a run without a change shows of the tests that pass it."""

    #: ``file:line`` of the code -> the tests that reach it.
    reached: dict[str, set[str]]
    #: Test -> how long it takes, and how much of that the processor works: the load of the machine is not in that.
    seconds: dict[str, float]
    effort: dict[str, float]


def measured(items: Sequence[pytest.Item], files: Sequence[Path], kept: Path, run: Run) -> Baseline:
    """The baseline of `items` for the code in `files`, as far as `kept` does not have it.

    A test is run anew where its file changed; all are where the code did.
    """
    code = {str(file): _digest(file) for file in files}
    known: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    if any(known.get("code", {}).get(file) != digest for file, digest in code.items()):
        known = {"code": code, "tests": {}}
    tests = {str(path): _digest(path) for path in {item.path for item in items}}
    stale = [item for item in items if known["tests"].get(item.nodeid, {}).get("of") != tests[str(item.path)]]
    if stale:
        print(f"{len(stale)} tests run once without a change", flush=True)
        for name, entry in _run_once(stale, [Path(file) for file in known["code"]], run).items():
            known["tests"][name] = entry
        for item in stale:
            known["tests"][item.nodeid]["of"] = tests[str(item.path)]
        kept.write_text(json.dumps(known), encoding="utf-8")
    return _passing({item.nodeid: known["tests"][item.nodeid] for item in items})


def _passing(tests: dict[str, Any]) -> Baseline:
    base = Baseline(defaultdict(set), {}, {})
    for name, entry in tests.items():
        if not entry["passed"]:  # its verdict would say nothing
            print(f"left out, for it fails without a change: {name}")
            continue
        base.seconds[name], base.effort[name] = entry["seconds"], entry["effort"]
        for file, lines in entry["lines"].items():
            for line in lines:
                base.reached[f"{file}:{line}"].add(name)
    return base


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:16]


def _run_once(items: Sequence[pytest.Item], files: Sequence[Path], run: Run) -> dict[str, Any]:
    """For each test whether it passed, its seconds, and the lines that it reaches; in a child, which is then gone."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            found = _reach(items, files, run)
            with os.fdopen(write, "w") as pipe:
                json.dump(found, pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(text)  # type: ignore[no-any-return]


def _reach(items: Sequence[pytest.Item], files: Sequence[Path], run: Run) -> dict[str, Any]:
    measure = coverage.Coverage(data_file=None, include=[str(file) for file in files], config_file=False)
    measure.start()
    entries: dict[str, dict[str, Any]] = {}
    began = (time.monotonic(), time.process_time())
    for item, passed in run(items, lambda item: measure.switch_context(item.nodeid)):
        now = (time.monotonic(), time.process_time())
        entries[item.nodeid] = {
            "passed": passed,
            "seconds": now[0] - began[0],
            "effort": now[1] - began[1],
            "lines": defaultdict(list),
        }
        began = now
    measure.stop()
    data = measure.get_data()
    for file in data.measured_files():
        for line, contexts in data.contexts_by_lineno(file).items():
            for name in contexts:
                if name:
                    entries[name]["lines"][file].append(line)
    return entries
