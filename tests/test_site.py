"""The docs as a site: it builds without a warning, its links lead somewhere, and its reference has everything.

Built once for all processes of the tests; what stands in the reference is compared with the code, not with its maker.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import click
import pytest

from newel.cli.kinds import Command
from newel.evaluation.plugins import evaluation_composition
from newel_compose import Distribution
from newel_kernel import LIFECYCLE

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = ROOT / "plugins"
pytestmark = pytest.mark.skipif(find_spec("zensical") is None, reason="the extra `docs` is not installed")


class Page(NamedTuple):
    """The text of a page, its anchors, and what it links to."""

    text: str
    anchors: set[str]
    links: list[str]


def read(file: Path) -> Page:
    text = file.read_text(encoding="utf-8")
    anchors = re.findall(r'<[a-z][^<>]*\bid="([^"]*)"', text)
    links = re.findall(r'<[a-z][^<>]*\b(?:href|src)="?([^"\s>]+)', text)
    return Page(unescape(re.sub(r"<[^>]+>", "", text)), set(map(unescape, anchors)), list(map(unescape, links)))


@pytest.fixture(scope="session")
def site(once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The folder of the built site."""
    return once("site", build)


def build(folder: Path) -> None:
    command = [sys.executable, "docs/site/build.py", "--output", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


@cache
def target_of(folder: Path, path: str) -> tuple[Path, bool]:
    """The file that a link from a page in `folder` leads to, and whether it is there: pages share most links."""
    target = (folder / unquote(path)).resolve()
    target = target / "index.html" if target.is_dir() else target
    return target, target.exists()


def test_the_reference_in_the_repository_is_current(tmp_path: Path) -> None:
    """After a change of a hook, kind, setting, command or distribution: `python docs/site/build.py --reference`."""
    copy = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", copy, ignore=shutil.ignore_patterns("examples", "__pycache__"))
    subprocess.run([sys.executable, copy / "site" / "build.py", "--reference"], cwd=ROOT, check=True)
    pages = {path.relative_to(base): path for base in (copy, ROOT / "docs") for path in base.rglob("*.md")}
    folders = {Path("reference"), Path("plugins/kinds")}
    stale = [
        str(path)
        for path in pages
        if path.parent in folders
        for texts in [[(base / path).read_text() if (base / path).exists() else "" for base in (copy, ROOT / "docs")]]
        if texts[0] != texts[1]
    ]
    assert not stale, f"run `python docs/site/build.py --reference`, which writes {stale}"


def test_its_links_lead_somewhere(site: Path) -> None:
    pages = {file: read(file) for file in site.rglob("*.html")}
    assert len(pages) > 100
    missing = []
    for file, page in pages.items():
        for link in page.links:
            where = urlsplit(link)
            if where.scheme or where.netloc or file.name == "404.html":
                continue
            target, exists = target_of(file.parent, where.path) if where.path else (file, True)
            anchored = not where.fragment or target not in pages or unquote(where.fragment) in pages[target].anchors
            if not (exists and anchored):
                missing.append(f"{file.relative_to(site)}: {link}")
    assert not missing, "\n".join(missing)


def test_nothing_is_asked_of_others(site: Path) -> None:
    """A page loads what is of the site, and nothing else."""
    loaded = re.compile(
        r'<(?:script|img|iframe)[^>]*\bsrc="(https?:[^"]+)"|<link[^>]*rel="stylesheet"[^>]*href="(https?:[^"]+)"'
    )
    assert not [(file.name, found) for file in site.rglob("*.html") for found in loaded.findall(file.read_text())]


def packages() -> Iterator[str]:
    """The packages of newel whose names are public, by their files."""
    for file in sorted((PLUGINS / "newel").rglob("__init__.py")):
        yield ".".join(file.parent.relative_to(PLUGINS).parts)
    yield from ("newel_kernel", "newel_compose", "newel_types")


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    missing = []
    for package in packages():
        module = import_module(package)
        names = getattr(module, "__all__", None) or (module.__dir__() if "__dir__" in vars(module) else [])
        if names:
            words = set(re.findall(r"\w+", read(site / "reference" / "api" / f"{package}.html").text))
            real = [name for name in names if name.isidentifier()]  # pytest puts "@py_builtins" in what it rewrites
            missing += [f"{package}.{name}" for name in real if name not in words]
    assert not missing


def test_every_module_with_names_is_in_the_reference(site: Path) -> None:
    page = read(site / "reference" / "api" / "index.html").text
    modules = [
        ".".join(file.relative_to(PLUGINS).with_suffix("").parts)
        for file in sorted((PLUGINS / "newel").rglob("[!_]*.py"))
        if re.search("^__all__", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(modules) > 50
    assert not [name for name in modules if name not in page]


def kinds() -> dict[str, str]:
    """The hooks that rooms declare, with the name of what they return, as their files have it."""
    found = {}
    files = [*(PLUGINS / "newel").rglob("kinds.py"), *(ROOT / "kernel").rglob("hookspecs/registration.py")]
    for file in [*files, ROOT / "kernel" / "newel_compose" / "_internal" / "hookspecs.py"]:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("register_") and node.returns is not None:
                found[node.name] = ast.unparse(node.returns)
    return found


def test_every_hook_and_kind_is_in_the_reference(site: Path) -> None:
    page = read(site / "reference" / "hooks.html")
    assert set(LIFECYCLE) <= page.anchors
    declared = kinds()
    assert len(declared) > 25
    assert not [hook for hook in declared if hook not in page.text]
    for hook, returned in declared.items():
        if descriptor := re.fullmatch(r"Sequence\[(\w+)\]", returned):
            kind = read(site / "plugins" / "kinds" / f"{descriptor[1]}.html")
            assert hook in kind.text
            assert "An example" in kind.text


def test_every_setting_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    sections = dict(re.findall(r'<h2 id="(\w+)">(.*?)(?=<h2 |</article>)', page, re.DOTALL))
    composition = evaluation_composition("standard")
    own = {record.name for record in composition.plugins if record.distribution == "newel"}
    assert set(sections) == {
        name for name, model in composition.settings.items() if name in own and type(model).model_fields
    }
    for plugin, model in composition.settings.items():
        for name in type(model).model_fields if plugin in own else ():
            assert f"<code>{name}</code>" in sections[plugin], f"{plugin}.{name}"
    rows = [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]
    assert not [row for row in rows if row and not row[-1].strip()], "a setting has no description"


def test_every_key_of_a_distribution_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "distributions.html").read_text(encoding="utf-8")
    assert not [key for key in Distribution.model_fields if key != "source" and f"<code>{key}</code>" not in page]


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, f"{path} {name}")


def test_every_command_and_option_is_in_the_reference(site: Path) -> None:
    page = read(site / "reference" / "commands.html").text
    registered = evaluation_composition("standard").registry.all(Command)
    every = [found for one in registered for found in commands(one.load(), one.name)]
    assert len(every) > 30
    assert "eval compare" in dict(every)
    for path, command in every:
        assert f"newel {path}" in page
        options = [option for param in command.params if isinstance(param, click.Option) for option in param.opts]
        assert not [option for option in options if option not in page]
