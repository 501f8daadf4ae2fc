"""adk-web's page, out of an installed google-adk, in a browser: on the server's own origin, with its cookie.

google-adk lies next to newel, or in the folder of packages that `ADK_PACKAGES` names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.plugins.server.operations.browser import Page, chromium, page

from newel.server.endpoints.ui import bundle

_AGENT = """
from newel import Agent
from newel.testing import ScriptedModel
root_agent = Agent(name="NAME", model=ScriptedModel(["Good morning, this is NAME"] * 5))
"""
#: The bundle's icons are letters of fonts that it takes from there; the browser of this test reaches nobody.
_FONTS = "https://fonts.gstatic.com/"
_CLICK = """
(() => {
  const shown = [...document.querySelectorAll("button, span, div")].filter(one => one.offsetParent !== null);
  const found = shown.filter(one => one.innerText.trim() === TEXT).pop();
  if (found) found.click();
  return !!found;
})()
"""


def _packages() -> Path | None:
    """The folder that has google-adk."""
    if folder := os.environ.get("ADK_PACKAGES"):
        return Path(folder)
    found = bundle()
    return found.parents[3] if found is not None else None


def _missing() -> str:
    if _packages() is None:
        return "google-adk is not installed: its wheel has the page (or ADK_PACKAGES names a folder that has it)"
    if chromium() is None:
        return "there is no Chromium on the path"
    return ""


pytestmark = [
    pytest.mark.skipif(bool(_missing()), reason=_missing()),
    pytest.mark.skipif(find_spec("websockets") is None, reason="the browser is driven over a WebSocket"),
]


def _click(shown: Page, text: str) -> None:
    shown.wait(_CLICK.replace("TEXT", json.dumps(text)))


def _wait_for(shown: Page, *texts: str) -> None:
    for text in texts:
        shown.wait(f"document.body.innerText.includes({json.dumps(text)})")


def test_a_message_its_answer_and_its_trace(tmp_path: Path) -> None:
    for name in ("baker", "clerk"):
        (tmp_path / "agents" / name).mkdir(parents=True)
        (tmp_path / "agents" / name / "agent.py").write_text(_AGENT.replace("NAME", name))
    packages = _packages()
    assert packages is not None
    (tmp_path / "packages" / "google").mkdir(parents=True)  # nothing else of that environment
    (tmp_path / "packages" / "google" / "adk").symlink_to(packages / "google" / "adk")
    command = [sys.executable, "-m", "newel.cli.main", "web", "agents", "--port", "0", "--sessions", "memory:"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path / "packages"), *sys.path))}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip().replace("/#", "/dev-ui/#")
            with page(tmp_path / "browser") as shown:
                _converse(shown, address)
                shown.picture(tmp_path / "trace.png")
        finally:
            process.terminate()
    origin = address.partition("dev-ui/#")[0]
    assert {one for one in shown.requests if not one.startswith((origin, _FONTS, "data:"))} == set()
    assert any(one.startswith(f"{origin}dev/apps/clerk/debug/trace/session/") for one in shown.requests)
    entrance = f"401 (Unauthorized) {address}"
    assert [one for one in shown.errors if _FONTS not in one and entrance not in one] == []


def _converse(shown: Page, address: str) -> None:
    shown.call("Page.navigate", url=address)
    _wait_for(shown, "Select an agent to begin")
    assert "token" not in shown.run("location.href")
    _click(shown, "Select an app")
    _click(shown, "clerk")
    shown.wait("document.querySelector('textarea') !== null")
    shown.run("document.querySelector('textarea').focus()")
    shown.type("hello there")
    _wait_for(shown, "Good morning, this is clerk")
    _click(shown, "Traces")
    _wait_for(shown, "Total latency", "call_llm")
