"""The guide of limits: what it has installed is installed as printed, and its distributions compose with that."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.test_first_hour import environment

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "docs" / "guides" / "limits.md").read_text(encoding="utf-8")


def test_what_the_guide_prints_runs(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "wheels")]
    subprocess.run([*build, str(ROOT / "contrib" / "redis")], check=True, capture_output=True)
    env = {**environment(tmp_path), "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    installs = re.findall(r"`(pip install [^`]+)`", GUIDE)
    assert installs == ["pip install newel-redis"]
    distributions = re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert len(distributions) == 2
    for command in (*installs, *(f"newel runs {one} --help" for one in re.findall(r"`newel runs (\w+)`", GUIDE))):
        subprocess.run(command, shell=True, check=True, cwd=tmp_path, env=env, capture_output=True)
    for distribution in distributions:
        (tmp_path / "newel.yaml").write_text(distribution, encoding="utf-8")
        shown = subprocess.run(["newel", "plugins"], check=True, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert "redis_sessions" in shown.stdout
