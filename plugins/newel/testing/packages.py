"""Packages for a test: distributions that look installed, with modules, metadata and entry points."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

_METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


class FakePackages:
    """A folder of packages, as pip leaves them: modules next to ``.dist-info`` folders.

    The fixture `fake_packages` has one on `sys.path` while a test runs; its plugins are found like installed ones.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def install(
        self,
        distribution: str,
        version: str = "1.0",
        *,
        plugins: Mapping[str, str] | None = None,
        distributions: Mapping[str, str] | None = None,
        group: str = "newel.plugins",
        api: str = "",
        files: Mapping[str, str | bytes] | None = None,
        metadata: str = "",
        **modules: str,
    ) -> Path:
        """Install a distribution; returns its ``.dist-info`` folder.

        `modules` map names to sources, `files` paths to contents; sources are dedented. `plugins` map the names of
        entry points in `group` to their targets, `distributions` those of ``newel.distributions``. `api` is the version
        of newel's API that it was written for. `metadata` has further lines, such as ``Requires-Dist: acme>=2``. A
        FileExistsError if that release is installed already.
        """
        info = self.path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        sources = {f"{name}.py": dedent(source) for name, source in modules.items()}
        for name, content in {**sources, **(files or {})}.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        (info / "METADATA").write_text(_METADATA.format(name=distribution, version=version) + metadata, "utf-8")
        needs = {api: distribution.replace("-", "_")} if api else None
        groups = {group: plugins, "newel.distributions": distributions, "newel.api": needs}
        lines = [
            line
            for name, points in groups.items()
            if points
            for line in (f"[{name}]", *(f"{point} = {target}" for point, target in points.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
        importlib.invalidate_caches()
        return info

    def forget(self) -> None:
        """Let the next import read the modules again."""
        for name, module in list(sys.modules.items()):
            if str(self.path) in (getattr(module, "__file__", None) or ""):
                del sys.modules[name]
        importlib.invalidate_caches()
