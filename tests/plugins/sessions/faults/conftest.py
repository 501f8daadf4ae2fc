"""What runs the programs of this folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def store_uri(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """The URI of an empty store: of a file, or on a server."""

    def uri(kind: str) -> str:
        return f"sqlite:{tmp_path}/s.db" if kind == "sqlite" else str(request.getfixturevalue(kind)())

    return uri


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """What a program says that is run with these arguments and a folder; nothing is wrong."""

    def run(program: str, *arguments: object) -> dict[str, Any]:
        command = [sys.executable, str(Path(__file__).with_name(program)), *map(str, arguments), str(tmp_path)]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        print(f"{program} {arguments}: {found}")
        assert not found["wrong"], "\n".join(found["wrong"][:3])
        return found

    return run
