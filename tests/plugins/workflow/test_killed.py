"""A graph whose process is killed goes on in another one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path
from newel import App, Runner, Workflow
from newel.apps import ResumabilityConfig
from newel.sessions import SqliteSessionService
from newel.workflow import JoinNode

folder, invocation = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None


def ran(name):
    with (folder / "ran").open("a") as file:
        file.write(name + " ")


def first(node_input: str):
    ran("first")
    return "1"


def silent(node_input):
    ran("silent")


async def killed(node_input):
    ran("killed")
    if invocation is None:
        os.kill(os.getpid(), signal.SIGKILL)
    return "3"


def last(node_input):
    return sorted(map(str, node_input.values()))


async def main():
    flow = Workflow(name="wf", edges=[("START", first, (silent, killed), JoinNode(name="join"), last)])
    app = App(name="app", root_agent=flow, resumability_config=ResumabilityConfig(is_resumable=True))
    runner = Runner(app=app, session_service=SqliteSessionService(str(folder / "s.db")), auto_create_session=True)
    arguments = {"invocation_id": invocation} if invocation else {"new_message": "go"}
    async for event in runner.run_async(user_id="u", session_id="s", **arguments):
        (folder / "invocation").write_text(event.invocation_id)
        print(event.output)


asyncio.run(main())
"""


def test_what_was_done_before_the_kill_is_not_done_again(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run = [sys.executable, str(program), str(tmp_path)]
    assert subprocess.run(run, capture_output=True).returncode == -signal.SIGKILL
    resumed = subprocess.run([*run, (tmp_path / "invocation").read_text()], capture_output=True, text=True, check=True)
    assert resumed.stdout.splitlines()[-1] == "['3', 'None']"
    assert (tmp_path / "ran").read_text().split() == ["first", "silent", "killed", "killed"]
