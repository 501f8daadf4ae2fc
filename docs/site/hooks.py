"""What the site adds to the pages: the generated reference, its places in the navigation, links out of the docs."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

import api
import listings

DOCS = Path(__file__).resolve().parents[1]
# A build keeps nearly all its objects until it ends: collecting garbage as often as usual takes a fifth of its time.
gc.set_threshold(100_000, 20, 100)


@cache
def generated() -> dict[str, str]:
    """Path of a generated page -> its text."""
    return {**listings.pages(), **api.pages()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each folder in the navigation by its pages: all (`start/`), or those not named there (`guides/*`)."""
    names = set(_names(config.nav))
    config.nav = [_expanded(entry, names) for entry in config.nav or []]
    return config


def _names(entry: Any) -> Iterator[str]:
    """The pages that the navigation names."""
    if isinstance(entry, str):
        yield entry
    else:
        for one in entry.values() if isinstance(entry, dict) else entry or ():
            yield from _names(one)


def _expanded(entry: Any, names: set[str]) -> Any:
    """An entry of the navigation with the pages of its folders."""
    if isinstance(entry, dict):
        return {title: _expanded(value, names) for title, value in entry.items()}
    if isinstance(entry, list):
        rest = [page for one in entry if str(one).endswith("/*") for page in _pages(one[:-1]) if page not in names]
        return [_expanded(one, names) for one in entry if not str(one).endswith("/*")] + rest
    return _pages(entry) if entry.endswith("/") else entry


def _pages(folder: str) -> list[str]:
    """The pages of a folder, the index first."""
    here = [path.relative_to(DOCS).as_posix() for path in (DOCS / folder).glob("*.md")]
    pages = here + [path for path in generated() if path.rpartition("/")[0] == folder.rstrip("/")]
    return sorted(pages, key=lambda path: (not path.endswith("/index.md"), path.removesuffix(".md")))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Make links that lead out of the docs plain text: the site does not have their targets."""
    folder = (DOCS / page.file.src_uri).parent

    def text_of(link: re.Match[str]) -> str:
        target = (folder / link[2].partition("#")[0]).resolve()
        return link[0] if target.is_relative_to(DOCS) else link[1]

    return re.sub(r"\[([^\]]+)\]\((\.\./[^)\s]+)\)", text_of, markdown)
