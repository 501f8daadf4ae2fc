"""The loop of a command: Ctrl-C ends it whenever it comes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from newel import cli

#: The signal comes to a thread while the loop waits, which is for the loop what a signal is that comes the moment
#: before it waits. The thread runs only once the loop has let go of the interpreter, which it does to wait.
WAITING = """
import asyncio, os, signal, sys, threading
from newel.cli.exit import run_loop

sys.setswitchinterval(1000)
waits = threading.Event()

def interrupt():
    waits.wait()
    os.kill(os.getpid(), signal.SIGINT)

async def wait():
    threading.Thread(target=interrupt).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    asyncio.get_running_loop().call_soon(waits.set)
    await asyncio.Event().wait()

try:
    run_loop(wait())
except KeyboardInterrupt:
    print("ended")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="threads have no signals there")
def test_an_interrupt_that_comes_as_the_loop_begins_to_wait_ends_it() -> None:
    done = subprocess.run([sys.executable, "-c", WAITING], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


def test_every_command_has_such_a_loop() -> None:
    folder = Path(str(cli.__file__)).parent
    assert [file.name for file in folder.rglob("*.py") if "asyncio.run(" in file.read_text()] == []
