"""A pytest plugin that runs the tests against changed code: each change that no test notices is told.

``.ci/mutants`` runs it. All tests are collected once; each mutant is a fork of that process in which the code of one
function is replaced, and which runs the tests that reach the changed line, until one fails. Outcomes are kept in a
folder, a file for each module: a run goes on where the one before it was stopped.
"""

from __future__ import annotations

import gc
import itertools
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

import pytest
from _pytest.runner import runtestprotocol
from baseline import Baseline, measured
from hypothesis import Phase, settings
from mutations import Mutant, mutants_of
from reports import Report, files_of, table

#: What a child's status says.
SURVIVED, KILLED, UNFIT = 0, 1, 3
#: Seconds that a test has beyond four times what it took without a change.
_GRACE = 8.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("mutants")
    group.addoption("--mutate", action="append", default=[], help="a file or a folder of code to change; repeatable")
    group.addoption("--mutants", default="*", help="only the mutants whose name matches this pattern")
    group.addoption("--mutants-again", action="store_true", help="try those that survived again")
    group.addoption("--mutants-seconds", type=float, default=30, help="how much processor the tests of one may take")
    group.addoption("--mutants-folder", default=".mutants", help="where the outcomes are, and which tests reach what")


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
    files = files_of(config.getoption("--mutate"))
    folder = Path(config.getoption("--mutants-folder"))
    folder.mkdir(parents=True, exist_ok=True)
    pattern, again = config.getoption("--mutants"), config.getoption("--mutants-again")
    wanted: list[tuple[Report, list[Mutant]]] = []
    for file in files:
        report = Report(folder, file)
        mutants = mutants_of(file)
        report.keep(mutants)
        wanted.append((report, [one for one in mutants if fnmatch(one.name, pattern) and report.wants(one, again)]))
    if any(mutants for _, mutants in wanted):
        config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all
        base = measured(session.items, files, folder / "baseline.json", _outcomes)
        trials = Trials(session.items, base, files, config.getoption("--mutants-seconds"))
        gc.collect()
        gc.freeze()  # else each child copies the heap as it collects
        for report, mutants in wanted:
            for mutant in mutants:
                report.add(mutant, *trials.outcome(mutant))
    print(table(folder, files))
    return True


class Trials:
    """Tries mutants, each in a fork of this process."""

    def __init__(self, items: Sequence[pytest.Item], base: Baseline, files: Sequence[Path], most: float) -> None:
        self.items = {item.nodeid: item for item in items}
        self.base, self.most = base, most
        self.loaded = _loaded({str(file) for file in files})
        #: How many mutants of a function a test has killed: the next one is likely to be killed by it too.
        self.bites: Counter[tuple[str, str]] = Counter()
        self.at = mmap(-1, 4)  # how far a child has come

    def outcome(self, mutant: Mutant) -> tuple[str, int, float]:
        """What became of it, how many tests had a part in it, and the seconds that took."""
        tests = [self.items[one] for one in _within(self.most, self._order(mutant), self.base.effort)]
        if not tests:
            return "not reached", 0, 0.0
        began = time.monotonic()
        self.at[:4] = len(tests).to_bytes(4)
        status = _forked(partial(_trial, mutant, self.loaded, tests, self.base.seconds, self.at))
        at = int.from_bytes(self.at[:4])
        if at == len(tests) and status not in (SURVIVED, UNFIT):
            raise RuntimeError(f"no test was run for {mutant.name}: the child ended with {status}")
        if status == KILLED:
            self.bites[mutant.function, tests[at].nodeid] += 1
        word = {SURVIVED: "survived", KILLED: "killed", UNFIT: "unfit", -signal.SIGALRM: "timed out"}
        return word.get(status, "killed"), len(tests), time.monotonic() - began

    def _order(self, mutant: Mutant) -> list[str]:
        """The tests that reach it: those that killed its neighbours, then quick ones, of different files."""
        effort = self.base.effort
        reaching = sorted(_reaching(mutant, self.base.reached) & self.items.keys(), key=effort.__getitem__)
        of_file: Counter[str] = Counter()
        rank: dict[str, float] = {}
        for one in reaching:
            of_file[one.partition("::")[0]] += 1
            rank[one] = of_file[one.partition("::")[0]] * effort[one]
        return sorted(reaching, key=lambda one: (-self.bites[mutant.function, one], rank[one], one))


def _reaching(mutant: Mutant, reached: dict[str, set[str]]) -> set[str]:
    """The tests that reach the changed lines; where none is known to, those that reach the function.

    Python 3.11 does not tell coverage that a coroutine goes on with an exception that was thrown into it.
    """

    def of(lines: range) -> set[str]:
        return {one for line in lines for one in reached[f"{mutant.path}:{line}"]}

    return of(range(mutant.first, mutant.last + 1)) or of(range(mutant.begin, mutant.end + 1))


def _within(most: float, tests: Sequence[str], effort: dict[str, float]) -> Iterator[str]:
    """The first of `tests` that take `most` seconds together."""
    for one in tests:
        most -= effort[one]
        if most < 0:
            return
        yield one


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


def _outcomes(items: Sequence[pytest.Item], begin: Callable[[pytest.Item], None]) -> Iterator[tuple[pytest.Item, bool]]:
    for item, following in zip(items, [*items[1:], None], strict=True):
        begin(item)
        reports = runtestprotocol(item, log=False, nextitem=following)
        yield item, not any(report.failed for report in reports)


def _loaded(files: set[str]) -> dict[tuple[str, str, int], list[FunctionType]]:
    """The functions that are loaded from `files`, by file, name and line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
    gc.unfreeze()  # the collector does not name what is frozen, as all that was imported for the tests is
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename in files:
            found[_key(one.__code__)].append(one)
    if not found:
        raise RuntimeError(f"no function of {', '.join(sorted(files))} is loaded: nothing could be changed")
    return found


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _trial(
    mutant: Mutant,
    loaded: dict[tuple[str, str, int], list[FunctionType]],
    tests: Sequence[pytest.Item],
    seconds: dict[str, float],
    at: mmap,
) -> int:
    """Put `mutant` in place and run `tests` until one fails."""
    pytest.Function.repr_failure = lambda *_, **__: ""  # type: ignore[method-assign]  # nobody reads it
    replaced = 0
    try:
        for old, new in mutant.codes():
            for function in loaded.get(_key(old), ()):
                function.__code__ = new
                replaced += 1
    except (SyntaxError, ValueError):  # no code comes of it, or one that closes over other names
        return UNFIT
    if not replaced:
        return UNFIT

    numbers = itertools.count()

    def limit(item: pytest.Item) -> None:
        at[:4] = next(numbers).to_bytes(4)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _GRACE + 4 * seconds[item.nodeid])

    return SURVIVED if all(passed for _, passed in _outcomes(tests, limit)) else KILLED
