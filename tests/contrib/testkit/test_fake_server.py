"""`newel fake-server`: an SDK without a key talks to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def serving(project: Any, *arguments: str) -> Iterator[dict[str, str]]:
    """The variables that the running command prints."""
    command = [sys.executable, "-m", "newel.cli.main", "fake-server", *arguments]
    project.install_contrib("testkit")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=project.env
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            found: dict[str, str] = {}
            while "GOOGLE_API_KEY" not in found:
                name, _, value = process.stdout.readline().removeprefix("export ").strip().partition("=")
                assert name, process.stderr.read()
                found[name] = value
            yield found
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def ask(variables: dict[str, str], words: str, **more: Any) -> Any:
    body = {"contents": [{"role": "user", "parts": [{"text": words}]}], **more}
    url = variables["GOOGLE_GEMINI_BASE_URL"] + "/v1beta/models/gemini-2.5-flash:generateContent"
    headers = {"x-goog-api-key": variables["GOOGLE_API_KEY"], "content-type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return json.load(error)


def text_of(answer: Any) -> str:
    return str(answer["candidates"][0]["content"]["parts"][0]["text"])


def test_it_repeats_what_it_is_told_and_refuses_what_the_service_refuses(project: Any) -> None:
    with serving(project) as variables:
        assert text_of(ask(variables, "Good day.")) == "Good day."
        assert "Unknown name" in ask(variables, "x", labels={"a": "b"})["error"]["message"]
        assert {"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"} <= set(variables)


def test_a_script_is_followed(project: Any, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("- Hello.\n- {fault: '429', message: slow down}\n- {text: Bye., stop: max}\n")
    with serving(project, "gemini", "--script", str(script)) as variables:
        assert text_of(ask(variables, "a")) == "Hello."
        assert ask(variables, "b")["error"] == {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}
        assert ask(variables, "c")["candidates"][0]["finishReason"] == "MAX_TOKENS"
        assert "ANTHROPIC_BASE_URL" not in variables


def test_what_is_wrong_is_said(project: Any, tmp_path: Path) -> None:
    project.install_contrib("testkit")
    script = tmp_path / "script.yaml"
    script.write_text("- {txt: a}\n")
    assert "entry 1: txt: Extra inputs are not permitted; did you mean 'text'?" in project.refused(
        "fake-server", "--script", str(script)
    )
    script.write_text("- {fault: '428'}\n")
    assert "unknown fault '428'; did you mean '429'?" in project.refused("fake-server", "--script", str(script))
    assert "a script is a list of answers" in _refused_empty(project, script)
    assert os.environ.get("OPENAI_BASE_URL") is None


def _refused_empty(project: Any, script: Path) -> str:
    script.write_text("{}\n")
    return str(project.refused("fake-server", "--script", str(script)))
