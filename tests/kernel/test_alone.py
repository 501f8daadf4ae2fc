"""The kernel is tested without newel: these tests pass where newel cannot be imported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_REFUSING = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "newel":
            raise ModuleNotFoundError(f"the kernel's tests import {name}", name=name)

sys.meta_path.insert(0, Refuse())
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def test_the_tests_of_the_kernel_pass_without_newel() -> None:
    files = sorted(path for path in HERE.glob("test_*.py") if path.name != Path(__file__).name)
    assert len(files) >= 10
    # Without the project's settings, some of which are those of newel's own plugin of pytest.
    folders = ["--rootdir", str(ROOT), "--confcutdir", str(ROOT)]  # what lies around the checkout is not ours
    options = ["-q", "-c", os.devnull, *folders, "--import-mode=importlib", "-W", "error"]
    plugins = ["-p", "no:newel", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "NEWEL_"))}
    done = subprocess.run(
        [sys.executable, "-c", _REFUSING, *options, *plugins, *map(str, files)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d{2,} passed", done.stdout), done.stdout
