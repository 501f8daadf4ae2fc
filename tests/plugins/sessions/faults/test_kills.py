"""A worker that is killed, stopped or cut off from its store at the N-th point of a run: another one goes on.

For N = 1, 2, 3 … until there is no such point, on each store and for both answers to what is asked, with NEWEL_EXAMPLES
set. Without it for some N, in a file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("kills.py")
ALL = "NEWEL_EXAMPLES" in os.environ
STRIDE = 1 if ALL else 19
STORES = ("sqlite", "postgres", "mariadb") if ALL else ("sqlite",)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URI of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/s.db"
    empty: Callable[[], str] = request.getfixturevalue(request.param)
    return empty()


@pytest.mark.parametrize("repeat", ["no", "yes"] if ALL else ["yes"])
@pytest.mark.parametrize("way", ["kill", "stop", "cut"])
@pytest.mark.parametrize(("shape", "points"), [("tools", 20), ("branches", 40), ("pauses", 25), ("graph", 25)])
def test_another_worker_goes_on(shape: str, points: int, way: str, repeat: str, store: str, tmp_path: Path) -> None:
    command = [sys.executable, str(DRIVER), shape, way, store, repeat, str(tmp_path), str(STRIDE)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    report = json.loads(done.stdout)
    assert not report["wrong"], "\n".join(report["wrong"][:3])
    assert report["points"] >= points
