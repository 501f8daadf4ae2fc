"""Builds the docs as a site: `python docs/site/build.py` writes build/docs, `--output FOLDER` another folder.

The pages and the generated reference are written to a folder first; Zensical makes the site of them. A warning fails
the build. With `--reference`, the pages of the reference that are under version control are written to docs, and no
site.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import api
import listings

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
ROOT = DOCS.parent
#: Folders of docs that are not pages.
_NO_PAGES = ("site", "examples")
_LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)\s]+)\)")


def write_reference() -> None:
    """Write the listings to docs, and remove those of what there is no more."""
    pages = listings.pages()  # before anything is removed: what does not compose has none
    for path in (DOCS / listings.KINDS).glob("*.md"):
        path.unlink()
    for name, text in pages.items():
        write(DOCS / name, text)


def write(path: Path, text: str) -> None:
    """Write a file and the folders that it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def stage(folder: Path) -> None:
    """Write everything that Zensical reads: the pages, written and generated, and the configuration."""
    pages = folder / "pages"
    for path in sorted(DOCS.rglob("*")):
        name = path.relative_to(DOCS)
        if path.is_file() and name.parts[0] not in _NO_PAGES:
            write(pages / name, without_links_out(path)) if path.suffix == ".md" else copy(path, pages / name)
    for place, text in {**listings.pages(), **api.pages()}.items():
        write(pages / place, text)
    copy(HERE / "extra.css", pages / "extra.css")
    project = tomllib.loads((HERE / "zensical.toml").read_text(encoding="utf-8"))["project"]
    project["nav"] = expanded(project["nav"], pages, set(named(project["nav"])))
    write(folder / "zensical.toml", f"project = {as_toml(project)}\n")


def copy(source: Path, target: Path) -> None:
    """Copy a file that is no page."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def without_links_out(path: Path) -> str:
    """The text of a page, without the links that lead out of the docs: the site does not have their targets."""

    def text_of(link: re.Match[str]) -> str:
        target = (path.parent / link[2].partition("#")[0]).resolve()
        return link[0] if target.is_relative_to(DOCS) else link[1]

    return _LINK.sub(text_of, path.read_text(encoding="utf-8"))


def named(entry: Any) -> Iterator[str]:
    """The pages that the navigation names."""
    if isinstance(entry, str):
        yield entry
    else:
        for below in entry.values() if isinstance(entry, dict) else entry:
            yield from named(below)


def expanded(entry: Any, pages: Path, names: set[str]) -> Any:
    """An entry of the navigation, with each pattern replaced by the pages of its folder that no other entry names."""
    if isinstance(entry, dict):
        return {title: expanded(value, pages, names) for title, value in entry.items()}
    if not isinstance(entry, list):
        return entry
    result: list[Any] = []
    for below in entry:
        if isinstance(below, str) and below.endswith("/*"):
            result += [page for page in in_folder(pages, below[:-2]) if page not in names]
        else:
            result.append(expanded(below, pages, names))
    return result


def in_folder(pages: Path, folder: str) -> list[str]:
    """The pages of a folder, the index first."""
    found = [path.relative_to(pages).as_posix() for path in (pages / folder).glob("*.md")]
    return sorted(found, key=lambda path: (not path.endswith("/index.md"), path.removesuffix(".md")))


def as_toml(value: Any) -> str:
    """A value of a TOML file, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value)


def build(output: Path) -> int:
    """Build the site in `output`: the status of Zensical."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage(folder)
        command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
        done = subprocess.run(command, cwd=folder)  # noqa: S603 - of this module
        if done.returncode == 0:
            shutil.rmtree(output, ignore_errors=True)
            shutil.copytree(folder / "docs", output)
    return done.returncode


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Build the docs as a site.")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs", help="where the site goes: build/docs")
    parser.add_argument("--reference", action="store_true", help="write the reference's pages of docs, and no site")
    options = parser.parse_args()
    if options.reference:
        write_reference()
        return 0
    return build(options.output.resolve())


if __name__ == "__main__":
    sys.exit(main())
