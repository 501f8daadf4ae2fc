"""A pytest plugin that runs the tests against changed code: each change that no test notices is told.

``.ci/mutants`` runs it. All tests are collected once; each mutant is a fork of that process in which the code of one
function is replaced, and which runs the tests that reach the changed line, until one fails.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from functools import partial
from mmap import mmap
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings
from mutations import Mutant, mutants_of

#: What a child's status says.
SURVIVED, KILLED, UNFIT = 0, 1, 3
#: Seconds that a test has beyond four times what it took without a change.
_GRACE = 6.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("mutants")
    group.addoption("--mutate", action="append", default=[], help="a file or a folder of code to change; repeatable")
    group.addoption("--mutants", default="*", help="only the mutants whose name matches this pattern")
    group.addoption("--mutants-of", default="", help="only those that survived in this earlier report")
    group.addoption("--mutants-seconds", type=float, default=1e9, help="how long the tests of one may take, unchanged")
    group.addoption("--mutants-baseline", default="", help="keeps which tests reach which lines, for the next run")
    group.addoption("--mutants-report", default="mutants.jsonl", help="where the outcome of each is written")


def pytest_configure(config: pytest.Config) -> None:
    """Found is enough: nobody reads the smallest example, and a forked process under load keeps no deadline."""
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("mutants", phases=phases, deadline=None, derandomize=True, database=None)
    settings.load_profile("mutants")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """In place of the tests once: the tests once without a change, then for each mutant."""
    config = session.config
    if session.testsfailed:
        raise session.Interrupted("the tests cannot be collected")
    files = [file.resolve() for name in config.getoption("--mutate") for file in _files(Path(name))]
    config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all
    if (kept := Path(config.getoption("--mutants-baseline") or os.devnull)).is_file():
        baseline = json.loads(kept.read_text(encoding="utf-8"))
    else:
        baseline = _baseline(session.items, files)
        kept.write_text(json.dumps(baseline), encoding="utf-8")
    reached, seconds = _passing(*baseline)
    again = _survivors(config.getoption("--mutants-of"))
    pattern, most = config.getoption("--mutants"), config.getoption("--mutants-seconds")
    loaded = _loaded({str(file) for file in files})
    gc.collect()
    gc.freeze()  # else each child copies the heap as it collects
    items = {item.nodeid: item for item in session.items}
    report = Path(config.getoption("--mutants-report"))
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    #: How many mutants of a function a test has killed: the next one is likely to be killed by it too.
    bites: Counter[tuple[str, str]] = Counter()
    at = mmap(-1, 4)  # how far a child has come
    with report.open("w", encoding="utf-8") as out:
        for mutant in (one for file in files for one in mutants_of(file)):
            if not fnmatch(mutant.name, pattern) or (again is not None and mutant.name not in again):
                continue
            ids = _reaching(mutant, reached)
            order = sorted(ids & items.keys(), key=lambda one: (-bites[mutant.function, one], seconds[one], one))
            tests = [items[one] for one in _within(most, order, seconds)]
            began = time.monotonic()
            outcome = _forked(partial(_trial, mutant, loaded, tests, seconds, at)) if tests else SURVIVED
            if outcome == KILLED:
                bites[mutant.function, tests[int.from_bytes(at[:4])].nodeid] += 1
            word = {SURVIVED: "survived" if tests else "not reached", KILLED: "killed", UNFIT: "unfit"}
            said = word.get(outcome, "timed out" if outcome == -signal.SIGALRM else "killed")
            outcomes[os.path.relpath(mutant.path)][said] += 1
            line = {"name": mutant.name, "line": mutant.first, "outcome": said, "tests": len(tests),
                    "seconds": round(time.monotonic() - began, 2)}  # fmt: skip
            out.write(json.dumps(line) + "\n")
            out.flush()
            if said not in ("killed", "unfit"):
                place = f"{os.path.relpath(mutant.path)}:{mutant.first}"
                print(f"{said}: {place}\n    {mutant.before}\n    {mutant.after}", flush=True)
    _table(outcomes)
    return True


def _survivors(report: str) -> set[str] | None:
    if not report:
        return None
    lines = [json.loads(line) for line in Path(report).read_text(encoding="utf-8").splitlines()]
    return {line["name"] for line in lines if line["outcome"] in ("survived", "not reached")}


def _reaching(mutant: Mutant, reached: dict[str, set[str]]) -> set[str]:
    """The tests that reach the changed lines; where none is known to, those that reach the function.

    Python 3.11 does not tell coverage that a coroutine goes on with an exception that was thrown into it.
    """

    def of(lines: range) -> set[str]:
        return {one for line in lines for one in reached[f"{mutant.path}:{line}"]}

    return of(range(mutant.first, mutant.last + 1)) or of(range(mutant.begin, mutant.end + 1))


def _within(most: float, tests: Sequence[str], seconds: dict[str, float]) -> Iterator[str]:
    """The first of `tests` that take `most` seconds together."""
    for one in tests:
        most -= seconds[one]
        if most < 0:
            return
        yield one


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _table(outcomes: dict[str, Counter[str]]) -> None:
    total: Counter[str] = sum(outcomes.values(), Counter())
    for name, counts in [*sorted(outcomes.items()), ("all", total)]:
        count = sum(counts.values()) - counts["unfit"]
        caught = counts["killed"] + counts["timed out"]
        details = ", ".join(f"{key} {value}" for key, value in sorted(counts.items()))
        print(f"{caught / max(count, 1):7.1%} of {count:4d}  {name}  ({details})")


def _forked(work: Callable[[], int]) -> int:
    """The status of a child that does `work`; the negative number of the signal that ended it."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = KILLED
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                os.dup2(null, stream)
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _baseline(items: Sequence[pytest.Item], files: Sequence[Path]) -> Any:
    """The tests that fail without a change, those that reach each ``file:line``, and how long each takes."""
    read, write = os.pipe()

    def work() -> int:
        measured = coverage.Coverage(data_file=None, include=[str(file) for file in files], config_file=False)
        measured.start()
        seconds: dict[str, float] = {}
        failed = []
        for item, passed in _outcomes(items, lambda item: measured.switch_context(item.nodeid), seconds):
            if not passed:
                failed.append(item.nodeid)
        measured.stop()
        data = measured.get_data()
        lines = {
            f"{file}:{line}": [one for one in contexts if one]
            for file in data.measured_files() for line, contexts in data.contexts_by_lineno(file).items()
        }  # fmt: skip
        with os.fdopen(write, "w") as pipe:
            json.dump([failed, lines, seconds], pipe)
        return SURVIVED

    pid = os.fork()
    if pid == 0:
        status = KILLED
        try:
            os.close(read)
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            status = work()
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def _passing(
    failed: list[str], lines: dict[str, list[str]], seconds: dict[str, float]
) -> tuple[dict[str, set[str]], dict[str, float]]:
    for one in failed:  # its verdict would say nothing
        print(f"left out, for it fails without a change: {one}")
    reached: dict[str, set[str]] = defaultdict(set)
    reached.update({key: set(tests) - set(failed) for key, tests in lines.items()})
    return reached, seconds


def _outcomes(
    items: Sequence[pytest.Item], begin: Callable[[pytest.Item], None], seconds: dict[str, float]
) -> Iterator[tuple[pytest.Item, bool]]:
    for item, following in zip(items, [*items[1:], None], strict=True):
        began = time.monotonic()
        begin(item)
        reports = runtestprotocol(item, log=False, nextitem=following)
        seconds[item.nodeid] = time.monotonic() - began
        yield item, not any(report.failed for report in reports)


def _loaded(files: set[str]) -> dict[tuple[str, str, int], list[FunctionType]]:
    """The functions that are loaded from `files`, by file, name and line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename in files:
            found[_key(one.__code__)].append(one)
    return found


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _trial(
    mutant: Mutant, loaded: dict[tuple[str, str, int], list[FunctionType]], tests: Sequence[pytest.Item],
    seconds: dict[str, float], at: mmap,
) -> int:  # fmt: skip
    """Put `mutant` in place and run `tests` until one fails."""
    pytest.Function.repr_failure = lambda *_, **__: ""  # type: ignore[method-assign]  # nobody reads it
    replaced = 0
    try:
        for old, new in mutant.codes():
            for function in loaded.get(_key(old), ()):
                function.__code__ = new
                replaced += 1
    except ValueError:  # it closes over other names
        return UNFIT
    if not replaced:
        return UNFIT

    numbers = itertools.count()

    def limit(item: pytest.Item) -> None:
        at[:4] = next(numbers).to_bytes(4)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _GRACE + 4 * seconds[item.nodeid])

    return SURVIVED if all(passed for _, passed in _outcomes(tests, limit, {})) else KILLED
