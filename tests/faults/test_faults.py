"""The fault battery on distribution `standard`: each case in a forked process of its own, so that none can end pytest.

Each group runs in one subprocess, for its cases fork and pytest has threads; the groups run side by side.
`pending.txt` holds the cases that do not pass yet, each with the reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
COMMAND = [sys.executable, str(HERE / "run.py"), "--ns", "newel", "--types", "newel.types"]
#: Group -> what the names of its cases have in them here.
GROUPS = {"tools": "", "cancel": "", "crash": "sqlite"}
#: No group may take longer, in seconds.
LONGEST = 600


def listed() -> dict[str, str]:
    """Case -> its group, in the order in which they run."""
    command = [*COMMAND, "--list", "--only", ",".join(GROUPS)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    names = {line.partition("\t")[0]: line.partition(".")[0] for line in lines}
    return {name: group for name, group in names.items() if GROUPS[group] in name}


def pending() -> dict[str, str]:
    """Case -> why it does not pass yet."""
    lines = (HERE / "pending.txt").read_text(encoding="utf-8").splitlines()
    found = [line.partition("  #") for line in lines if line.strip() and not line.startswith("#")]
    return {name.strip(): why.strip() for name, _, why in found}


CASES = listed()
PENDING = pending()


class Battery:
    """The running groups; `record` waits for the group of a case and gives what came of the case."""

    def __init__(self, folder: Path, groups: list[str]) -> None:
        self._folder = folder
        self._records: dict[str, dict[str, Any]] = {}
        self._running = {group: self._start(group) for group in groups}

    def _start(self, group: str) -> subprocess.Popen[bytes]:
        command = [*COMMAND, "--only", group, "--case", GROUPS[group], "--tmp", str(self._folder)]
        environment = {**os.environ, "NEWEL_DISTRIBUTION": "standard"}
        with (self._folder / f"{group}.jsonl").open("wb") as out, (self._folder / f"{group}.err").open("wb") as err:
            return subprocess.Popen(command, stdout=out, stderr=err, env=environment, cwd=self._folder)

    def record(self, case: str) -> dict[str, Any]:
        group = CASES[case]
        process = self._running.pop(group, None)
        if process is not None:
            try:
                process.wait(LONGEST)
            finally:
                stop(process)
            for line in (self._folder / f"{group}.jsonl").read_text(encoding="utf-8").splitlines():
                found = json.loads(line)
                self._records[found["case"]] = found
        assert case in self._records, (self._folder / f"{group}.err").read_text(encoding="utf-8")
        return self._records[case]

    def close(self) -> None:
        for process in self._running.values():
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def battery(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Battery]:
    """The groups of the selected cases, started."""
    selected = [
        item.callspec.params["case"]
        for item in request.session.items
        if hasattr(item, "callspec") and item.path == Path(__file__)
    ]
    with ExitStack() as stack:
        running = Battery(tmp_path_factory.mktemp("faults"), sorted({CASES[case] for case in selected}))
        stack.callback(running.close)
        yield running


def parameter(case: str) -> Any:
    marks = [pytest.mark.xfail(strict=True, reason=PENDING[case])] if case in PENDING else []
    return pytest.param(case, id=case, marks=marks)


@pytest.mark.skipif(sys.platform != "linux", reason="the kit forks and reads /proc")
@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_a_fault(battery: Battery, case: str) -> None:
    record = battery.record(case)
    if record["ok"] is None:
        pytest.skip(record["detail"])
    assert record["ok"], record["detail"]


def test_the_list_names_cases_and_says_why() -> None:
    for case, why in PENDING.items():
        assert case in CASES, case
        assert why, case
