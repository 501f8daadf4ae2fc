"""An environment with newel's wheel and what its extras need, and nothing else: made without an index."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def needed(name: str, extras: Iterable[str], found: dict[str, Distribution] | None = None) -> dict[str, Distribution]:
    """What pip would install for a package with its extras, from what is installed here."""
    found = {} if found is None else found
    package = distribution(name)
    for text in package.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            one = canonicalize_name(requirement.name)
            if one not in found:
                found[one] = distribution(one)
                needed(one, requirement.extras, found)
    return found


def made(folder: Path, *extras: str) -> Path:
    """The interpreter of a new environment in a folder."""
    venv.create(folder / "venv", with_pip=False)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    for package in needed("newel", extras).values():
        for file in _modules(package):
            (site / file).parent.mkdir(parents=True, exist_ok=True)
            (site / file).symlink_to(str(package.locate_file(file)))
    python = folder / "venv" / "bin" / "python"
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run(build, check=True, capture_output=True)
    subprocess.run([*pip, *folder.glob("*.whl")], check=True, capture_output=True)
    return python


def _modules(package: Distribution) -> list[str]:
    """Its files in the folder of packages, without scripts and compiled code."""
    return [file.as_posix() for file in package.files or () if not {"..", "__pycache__"} & {*file.parts}]
