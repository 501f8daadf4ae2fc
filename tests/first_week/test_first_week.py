"""Three programs as somebody writes them who knows the docs alone: they run, and type checkers find nothing in them.

They run in an environment that has what the pages install: newel's wheel with the extras of a server and two providers.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.first_week.environment import made
from tests.typing.checkers import Finding, mypy, pyright, pyright_command

from newel_testkit import WIRE_KEY, WireServer
from newel_testkit.wire import Answer

FOLDER = Path(__file__).parent
PROGRAMS = ("desk.py", "research.py", "providers.py")
#: Where a program writes JSON: literals for what takes any.
JSON = {
    'runner = desk([FunctionCall(name="refund", args={"order": 17, "euro": 129.0})])',
    """yield f"data: {json.dumps({'errorCode': 'FAILED'})}\\n\\n\"""",
}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of that environment."""
    return made(tmp_path_factory.mktemp("environment"), "server", "openai", "anthropic")


def run(python: Path, folder: Path, *command: str, **variables: str) -> str:
    """What a program prints, in a process of its own, in a folder without anything else."""
    done = subprocess.run(
        [python, FOLDER / command[0], *command[1:]],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_refund_is_approved_by_another_process(python: Path, tmp_path: Path) -> None:
    assert "waits: adk_request_confirmation refund {'order': 17, 'euro': 129.0}" in run(
        python, tmp_path, "desk.py", "ask"
    )
    assert not (tmp_path / "paid.txt").exists()
    assert run(python, tmp_path, "desk.py", "approve") == "Your money is on its way.\n"
    assert run(python, tmp_path, "desk.py", "approve") == ""  # nothing waits any more
    assert (tmp_path / "paid.txt").read_text() == "17: 129.0\n"


def test_a_page_follows_the_desk_by_server_sent_events(python: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([python, FOLDER / "desk.py", "serve", str(port)], cwd=tmp_path) as server:
        try:
            frames = _frames(f"http://127.0.0.1:{port}/chat", {"user": "ann", "message": "Hello"})
            again = _frames(f"http://127.0.0.1:{port}/chat", {"user": "ann", "message": "And?"})
        finally:
            server.terminate()
    assert frames[-1]["content"]["parts"] == [{"text": "Good day."}]
    assert again[-1] == {"errorCode": "FAILED"}  # the model has no more answers


def _frames(url: str, query: dict[str, str]) -> list[dict[str, Any]]:
    for _ in range(600):
        try:
            answer = httpx.get(url, params=query, timeout=60, trust_env=False)
            break
        except httpx.ConnectError:
            time.sleep(0.1)
    assert answer.headers["content-type"].startswith("text/event-stream")
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line]


def test_a_graph_looks_up_tries_again_and_sums_up(python: Path, tmp_path: Path) -> None:
    assert run(python, tmp_path, "research.py") == "Water 2 ['ConnectionError']\n"


def test_two_providers_are_asked_at_their_addresses(python: Path, tmp_path: Path) -> None:
    with WireServer() as openai, WireServer() as anthropic:
        openai.script(Answer(parts=({"text": "Tea is good."},)))
        anthropic.script(Answer(parts=({"text": '{"fine": true, "why": "short"}'},)))
        shown = run(
            python,
            tmp_path,
            "providers.py",
            OPENAI_BASE_URL=openai.base["openai"],
            OPENAI_API_KEY=WIRE_KEY,
            ANTHROPIC_BASE_URL=anthropic.base["anthropic"],
            ANTHROPIC_API_KEY=WIRE_KEY,
            NO_PROXY="127.0.0.1",
        )
        assert shown == "Tea is good. | True | short\n"
        assert [len(server.log) for server in (openai, anthropic)] == [1, 1]
        assert not [one for server in (openai, anthropic) for one in server.log if one.refused]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the programs, in which mypy reports each expression without a type."""
    for name in PROGRAMS:
        text = (FOLDER / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(f"{text}# mypy: disallow-any-expr\n", encoding="utf-8")
    return tmp_path


def lines_found(programs: Path, found: set[Finding]) -> set[str]:
    """The lines of the programs in which a checker finds something."""
    texts = {name: (programs / name).read_text(encoding="utf-8").splitlines() for name in PROGRAMS}
    return {texts[one.file][one.line - 1].strip() for one in found if one.code not in ("note", "information")}


def test_type_checkers_find_nothing_and_the_caller_needs_no_any(programs: Path) -> None:
    assert lines_found(programs, mypy(programs)) == JSON
    if (command := pyright_command()) is not None:
        assert lines_found(programs, pyright(programs, command)) == set()
    for name in PROGRAMS:
        text = (programs / name).read_text(encoding="utf-8")
        assert "Any" not in text
        assert "type: ignore" not in text
