"""A process that has imported newel, and forks one for each case: a fork is as good as a new process, at a tenth.

It reads cases as lines of JSON, and writes what came of each command as a line. A case that does not end is killed. The
first line is a case without a stranger: what its commands import, the process imports before it forks for the others.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import newel.cli.chain
import newel.cli.conversation
import newel.cli.doctor
import newel.cli.group
import newel.cli.plugins
import newel.cli.run
import newel.cli.startup
import newel.models.demo
import newel_compose
from newel.cli.debugging import take_option

#: Seconds that a case may take.
PATIENCE = 90.0


def main() -> None:
    """Serve cases until the input ends."""
    newel_compose.compose("standard")  # what it imports is imported once
    out = os.fdopen(os.dup(1), "w")
    first = json.loads(sys.stdin.readline())
    _forked(first)
    # What the commands import, too. The fork that ran them is gone, and with it all that they did besides.
    for name in (Path(first["folder"]) / "modules").read_text().split():
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()  # else each fork copies what its collector marks
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(_forked(case)), file=out, flush=True)


def _forked(case: dict[str, Any]) -> dict[str, Any]:
    folder = Path(case["folder"])
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            _play(case, folder)
        finally:
            os._exit(77)
    watch = os.pidfd_open(child)
    ended = select.select([watch], [], [], PATIENCE)[0]
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(watch)
    result = folder / "result.json"
    text = result.read_text() if result.exists() else ""
    commands = json.loads(text) if text else {}
    return {"hangs": not ended, "status": status, "seconds": time.monotonic() - begun, "commands": commands}


def _play(case: dict[str, Any], folder: Path) -> None:
    """In the child: compose, then run each command, each with streams of its own."""
    os.setsid()
    os.chdir(folder)
    sys.path[:0] = case["path"]
    os.environ |= case.get("environ", {})
    importlib.invalidate_caches()
    done: dict[str, Any] = {}
    result = os.open(folder / "result.json", os.O_CREAT | os.O_WRONLY, 0o600)
    startup = _captured("start", folder, done, lambda: newel.cli.startup.start())
    for name, arguments in case["commands"].items():

        def command(arguments: list[str] = arguments) -> None:
            sys.argv = ["newel", *arguments]
            take_option(sys.argv)
            newel.cli.group.cli(arguments, prog_name="newel", obj=startup)

        _captured(name, folder, done, command)
        os.pwrite(result, json.dumps(done).encode(), 0)
    if not case["path"]:
        (folder / "modules").write_text(" ".join(name for name in sys.modules if name.partition(".")[0] != "__main__"))
    os._exit(0)


def _captured(name: str, folder: Path, done: dict[str, Any], act: Any) -> Any:
    for number, what in ((0, os.devnull), (1, f"{folder}/{name}.out"), (2, f"{folder}/{name}.err")):
        flags = os.O_RDONLY if number == 0 else os.O_CREAT | os.O_WRONLY
        file = os.open(what, flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = open(0, closefd=False), open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    begun, code, returned = time.process_time(), None, None
    try:
        returned = act()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1 if ended.code else 0
    except BaseException as error:
        code = f"{type(error).__name__}: {error}"
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError) as error:
            code = f"{code}, and a stream is broken: {error}"
    done[name] = {
        "code": code,
        "seconds": time.process_time() - begun,
        "out": Path(f"{folder}/{name}.out").read_text("utf-8", "replace"),
        "err": Path(f"{folder}/{name}.err").read_text("utf-8", "replace"),
    }
    return returned


if __name__ == "__main__":
    main()
