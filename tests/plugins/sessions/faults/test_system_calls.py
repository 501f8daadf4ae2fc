"""A fault at the N-th system call that writes: an SQLite file, artifacts in a folder, and an import stay consistent.

For N = 1, 2, 3 … until there is no such call, each way in which a call can fail; with NEWEL_EXAMPLES set. Without it
every 61st of them, elsewhere for each way.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STRIDE = 1 if "NEWEL_EXAMPLES" in os.environ else 61


@pytest.fixture(scope="session")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes calls fail."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler, or no Linux: calls are made to fail by a library that is preloaded")
    made = tmp_path_factory.mktemp("faults") / "faults.so"
    libraries = ("-ldl", "-lpthread")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, HERE / "faults.c", *libraries], check=True)
    return made


@pytest.mark.parametrize(("case", "calls"), [("sessions", 150), ("upkeep", 150), ("import", 70), ("artifacts", 70)])
def test_a_fault_at_any_system_call_leaves_it_consistent(case: str, calls: int, faults: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(HERE / "driver.py"), case, str(tmp_path), str(STRIDE)]
    done = subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(faults)}, stdout=subprocess.PIPE, check=True)
    report = json.loads(done.stdout)
    assert not report["wrong"], "\n".join(report["wrong"][:3])
    assert len(report["calls"]) == 5
    assert min(report["calls"].values()) > calls
