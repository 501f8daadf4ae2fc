"""The server with nothing installed but what its extra names."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

_STARTED = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in MISSING else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]

import asyncio
from newel import Agent
from newel.server import Options, app
from newel.testing import ScriptedModel

async def status(application, method, path):
    answers = []
    body = {"type": "http.request", "body": b"{}", "more_body": False}
    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "root_path": "",
             "query_string": b"", "headers": headers, "client": None, "scheme": "http", "server": ("localhost", 80)}
    async def receive():
        return body
    async def send(message):
        answers.append(message)
    await application(scope, receive, send)
    return answers[0]["status"], answers[1]["body"].decode()

async def main():
    agents = {"clerk": Agent(name="clerk", model=ScriptedModel(["hi"]))}
    served = app(agents=agents, session_service="memory:", options=Options(development=True))
    print(*await status(served, "GET", "/list-apps"))
    print(*await status(served, "GET", "/openapi.json"))
    print(*await status(served, "POST", "/apps/clerk/mcp"))
    await served.close()

asyncio.run(main())
"""


def _closure(distribution: str, extras: set[str], seen: set[str]) -> set[str]:
    """The distributions that an installation brings."""
    if (key := f"{distribution}{sorted(extras)}") in seen:
        return set()
    seen.add(key)
    found = {re.sub(r"[-_.]+", "-", distribution).lower()}
    try:
        lines = requires(distribution) or []
    except PackageNotFoundError:
        return found
    for line in lines:
        one = Requirement(line)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in (extras or {""})):
            found |= _closure(one.name, set(one.extras), seen)
    return found


@pytest.fixture(scope="module")
def missing() -> set[str]:
    """The modules that nothing of the extra brings."""
    there = _closure("newel", {"", "server"}, set())
    modules = {
        module
        for module, owners in packages_distributions().items()
        if not {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners} & there
    }
    return modules - sys.stdlib_module_names


def test_it_serves(missing: set[str], tmp_path: Path) -> None:
    assert "mcp" in missing
    assert not {"starlette", "uvicorn", "pydantic", "newel"} & missing
    code = f"MISSING = {sorted(missing)!r}\n{_STARTED}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == '200 ["clerk"]'
    assert lines[1].startswith('200 {"openapi"')
    assert lines[2].startswith("501 ")
    assert "newel[mcp]" in lines[2]
