"""Runs a case with a fault at the N-th system call, in a process that `faults.c` is preloaded into.

    driver.py CASE FOLDER STRIDE [KIND]...

Each N has a folder and processes of its own: one works until and after the fault, another one looks at what is there.
Prints a line of JSON: the first N of each kind at which there was no fault, and what was wrong.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from cases import CASES, REFUSALS, Case, Ledger, Say, tried
from children import Child

#: As in faults.c.
KINDS = {"fails": 1, "dead": 2, "full": 3, "killed": 4, "torn": 5}


class Faults:
    """What was preloaded."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)

    def arm(self, folder: Path, at: int, kind: str) -> None:
        self._library.fault_arm(os.fsencode(folder), at, KINDS[kind])

    def disarm(self) -> bool:
        """Whether there was a fault."""
        self._library.fault_disarm()
        return bool(self._library.fault_fired())

    @property
    def fired(self) -> bool:
        return bool(self._library.fault_fired())


async def work(case: Case, folder: Path, faults: Faults, at: int, kind: str, say: Say) -> None:
    """Take all steps with the fault, then those that were refused once more, through the same service."""
    left: dict[str, str] = {name: "" for group in case.steps() for name in group}

    def heard(what: str, name: str, *more: object) -> None:
        if what == "done":
            left.pop(name)
        say(what, name, *more)

    faults.arm(folder, at, kind)
    try:
        await case.open()
    except REFUSALS as error:
        say("unopened", "", f"{type(error).__name__}: {error}")
    else:
        await tried(case, set(left), heard)
        if not faults.fired:
            await case.close()
    if faults.disarm():
        say("fired", "")
        await case.open()
        await tried(case, set(left), heard)
        await case.close()
        assert not left, f"once nothing fails any more, the same service still refuses {sorted(left)}"


async def look(case: Case, ledger: Ledger, say: Say) -> None:
    """See what is there, take the steps that were not taken, and see again."""
    await case.check(ledger)
    await case.open()
    left = {name for group in case.steps() for name in group if name not in ledger.done}

    def heard(what: str, name: str, *more: object) -> None:
        ledger.hear(what, name, *more)
        assert what != "refused", f"{name} is refused to whoever comes after: {more}"

    await tried(case, left, heard)
    await case.close()
    await case.check(ledger)


def run(made: Callable[[Path], Case], folder: Path, kind: str, at: int, faults: Faults) -> tuple[bool, list[str]]:
    """Whether there was an N-th call, and what was wrong."""
    folder.mkdir()
    said, ended = Child(lambda say: work(made(folder), folder, faults, at, kind, say)).end()
    ledger = Ledger(dead=kind == "dead")
    for one in said:
        ledger.hear(*one)
    killed = ended == "SIGKILL"
    fired = killed or any(one[0] == "fired" for one in said)
    wrong = [] if killed or not ended else [f"at work: {ended}"]
    _, ended = Child(lambda say: look(made(folder), ledger, say)).end()
    wrong += [f"afterwards: {ended}"] if ended else []
    if wrong:
        wrong.append("\n".join(map(str, said)))
    else:
        shutil.rmtree(folder)
    return fired, [f"{kind} at {at}: {one}" for one in wrong]


def main() -> None:
    gc.freeze()  # what is copied on write stays shared
    case, folder, stride, *kinds = sys.argv[1:]
    faults, wrong, calls = Faults(), list[str](), {}
    for kind in kinds or KINDS:
        at = 1 + KINDS[kind] * int(stride) // (len(KINDS) + 1)
        while True:
            fired, found = run(CASES[case], Path(folder) / f"{kind}-{at}", kind, at, faults)
            wrong += found
            if not fired:
                break
            at += int(stride)
        calls[kind] = at
    print(json.dumps({"calls": calls, "wrong": wrong}))


if __name__ == "__main__":
    main()
