"""The files of the page: what they may hold, how they are sent, and that they fit the server."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from importlib.resources import files

import httpx
import pytest

from newel.web import client
from newel.web.files import names
from newel.web.plugin import register_web_panels

STATIC = files("newel.web") / "static"
TEXTS = {name: (STATIC / name).read_bytes() for name in sorted(names())}
OWN = {name: data.decode() for name, data in TEXTS.items() if not name.startswith("vendor/")}
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b(?![^{}]*\{)|\brgba?\(|\bhsla?\(")


def test_the_page_stays_small():
    assert sum(map(len, TEXTS.values())) < 400_000
    assert sum(len(gzip.compress(data)) for data in TEXTS.values()) < 150_000
    panels = {name: len(data) for name, data in TEXTS.items() if name.startswith("js/panels/")}
    assert {name: size for name, size in panels.items() if size > 15_000} == {}


def test_the_client_knows_the_routes_of_the_server():
    assert OWN["js/routes.js"] == client.source(), "run: python -m newel.web.client"


def test_only_the_tokens_hold_colours():
    sheets = {name: text for name, text in OWN.items() if name.endswith(".css") and name != "tokens.css"}
    assert sheets
    for name, text in sheets.items():
        assert COLOUR.findall(text) == [], name
    for name, text in OWN.items():
        if name.endswith(".js"):
            assert re.findall(r"(?:color|fill|stroke|background):\s*#[0-9a-f]{3,8}", text) == [], name


def test_no_file_names_another_origin():
    for name, text in OWN.items():
        addresses = [one for one in re.findall(r"https?://[\w.-]+", text) if one != "http://www.w3.org"]
        assert addresses == [], name


def test_each_command_that_the_page_names_exists():
    named = {words for text in OWN.values() for words in re.findall(r"<code>newel ([a-z][^<]*)</code>", text)}
    assert len(named) > 3
    for words in named:
        command = [sys.executable, "-m", "newel.cli.main", *words.split(), "--help"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, (words, ended.stderr)


def test_the_types_in_the_comments_fit():
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("no TypeScript: npm install --global typescript")
    options = "--noEmit --allowJs --checkJs --strict --target es2022 --module es2022 --moduleResolution bundler"
    modules = [str(STATIC / name) for name in OWN if name.endswith(".js")]
    command = [compiler, *options.split(), "--lib", "es2023,dom,dom.iterable", *modules]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert checked.returncode == 0, checked.stdout


def test_no_text_is_ever_set_as_html():
    setters = [
        name
        for name, text in OWN.items()
        if re.search(r"innerHTML|insertAdjacentHTML|document\.write", text, re.IGNORECASE)
    ]
    assert setters == ["js/ui.js"]  # the page's own icons
    assert OWN["js/ui.js"].count("dangerouslySetInnerHTML") == 1


def test_the_pictures_show_every_panel():
    pytest.importorskip("playwright")
    from tests.plugins.web.pictures import GUIDE, PANELS, SHOWN

    places = " ".join(PANELS.values())
    panels = [*re.findall(r'name: "(\w+)"', OWN["js/panels.js"]), *(one.name for one in register_web_panels())]
    assert len(panels) > 8
    assert [one for one in panels if f"/{one}" not in places] == []
    views = re.findall(r"^  (\w+): \(\) => import", OWN["js/panels.js"], re.MULTILINE)
    assert len(views) > 3
    assert [one for one in views if f"#/{one}" not in places] == []
    assert [name for name in SHOWN if not (GUIDE / f"{name}.png").is_file()] == []


def test_files_are_compressed_and_known_by_their_hash(api: httpx.Client):
    first = api.get("/web/")
    assert first.headers["content-encoding"] == "gzip"
    assert "frame-ancestors 'none'" in first.headers["content-security-policy"]
    again = api.get("/web/", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert api.get("/", follow_redirects=False).headers["location"] == "/web/"


@pytest.mark.parametrize("name", ["../files.py", "..%2ffiles.py", "js", "js/none.js", "vendor/preact.d.ts", ""])
def test_nothing_else_is_served(api: httpx.Client, name: str):
    status = api.get(f"/web/{name}").status_code
    assert status == (200 if not name else 404)
