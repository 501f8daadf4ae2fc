"""`newel models`, `newel keys` and `newel doctor`."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from newel.cli import doctor, key_store, models
from newel.cli.bill import Bill
from newel_kernel import ConfigurationError, Event
from newel_types import GenerateContentResponseUsageMetadata

KEY = "sk-SECRET-123"


@pytest.fixture(autouse=True)
def _keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_KEYS", str(tmp_path / "keys" / "keys.json"))
    for name in ("OPENAI_API_KEY", "NEWEL_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


def test_models_lists_what_is_addressable(project: Any) -> None:
    listed = {one["provider"]: one for one in json.loads(project.newel("models").stdout)}
    assert listed["gemini"]["address"] == "gemini:NAME"
    assert "gemini-.*" in listed["gemini"]["names"]
    assert {"demo", "echo", "script", "test"} <= set(listed)


def test_a_model_says_what_it_can_do_and_costs(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    facts = json.loads(project.newel("models", "gemini-2.5-flash").stdout)
    assert "image" in facts["capabilities"]["media"]
    assert facts["price"].startswith("$0.3/input MTok")
    assert KEY not in json.dumps(facts)
    assert "unknown model 'gemni-3'" in project.refused("models", "gemni-3")


def test_on_a_terminal_it_is_a_table(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(models, "to_terminal", lambda: True)
    assert "an agent without a model uses demo:" in project.newel("models").stdout
    assert "price: not known" in project.newel("models", "demo:").stdout


def test_a_key_is_kept_in_a_file_of_its_user(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    result = project.newel("keys", "set", "OPENAI_API_KEY", "--file", stdin=f"{KEY}\n")
    file = key_store.path()
    assert result.stdout == f"OPENAI_API_KEY is kept in {file} (mode 0600)\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(project.newel("keys", "list").stdout) == {"OPENAI_API_KEY": str(file)}
    key_store.load()
    import os

    assert os.environ.pop("OPENAI_API_KEY") == KEY
    monkeypatch.setenv("OPENAI_API_KEY", "own")
    key_store.load()
    assert os.environ["OPENAI_API_KEY"] == "own"


def test_a_key_may_lie_in_the_keyring(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ring:
        kept: dict[tuple[str, str], str]

        def __init__(self) -> None:
            self.kept = {}

        def set_password(self, service: str, name: str, value: str) -> None:
            self.kept[service, name] = value

        def get_password(self, service: str, name: str) -> str | None:
            return self.kept.get((service, name))

    ring = Ring()
    monkeypatch.setattr(key_store, "_keyring", lambda: ring)
    assert "keyring" in project.newel("keys", "set", "OPENAI_API_KEY", stdin=KEY).stdout
    assert KEY not in key_store.path().read_text()
    key_store.load()
    import os

    assert os.environ.pop("OPENAI_API_KEY") == KEY


def test_what_is_no_key_is_refused(project: Any) -> None:
    assert "is not the name of a variable" in project.refused("keys", "set", "sk-123")
    result = project.newel("keys", "set", "OPENAI_API_KEY", stdin="\n")
    assert "no key was given" in result.stderr
    key_store.save("OPENAI_API_KEY", KEY, in_file=True)
    key_store.path().chmod(0o644)
    with pytest.raises(ConfigurationError, match="can be read by others: chmod 600"):
        key_store.names()
    assert "can be read by others: chmod 600" in key_store.load()  # a command that needs no key goes on


def test_the_doctor_names_where_keys_are_and_never_the_keys(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:{KEY}@proxy.test:3128")
    monkeypatch.setattr(doctor, "_conflicts", lambda package: iter(()))
    result = project.newel("doctor")
    facts = json.loads(result.stdout)
    assert result.exit_code == 0
    assert facts["keys"]["OPENAI_API_KEY"] == "environment"
    assert facts["proxies"]["HTTPS_PROXY"] == "http://[credentials]@proxy.test:3128"
    assert KEY not in result.stdout
    assert {sdk["package"] for sdk in facts["sdks"]} == {"anthropic", "openai", "google-genai", "litellm"}


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"newel.yaml": "name: [\n"}, "newel.yaml:"),
        ({"newel.yaml": "name: x\nextends: standard\nsettings: {tool_timeout: {second: 3}}\n"}, "mean 'seconds'"),
        ({"newel.lock": "{"}, "newel.lock is not a lock file"),
    ],
)
def test_the_doctor_looks_at_the_distribution(project: Any, files: dict[str, str], problem: str) -> None:
    for name, text in files.items():
        project.write(name, text)
    result = project.newel("doctor")
    told = json.loads(result.stdout)
    assert result.exit_code == 1
    assert told["distribution"] is None
    assert problem in told["problems"][0]


def test_the_doctor_reaches_for_the_services(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    result = project.newel("doctor", "--reach")
    assert result.exit_code == 1
    assert "127.0.0.1:9 cannot be reached" in json.loads(result.stdout)["services"]["openai"]


@pytest.mark.parametrize(
    ("installed", "condition", "fits"),
    [
        ("2.54.0", ">=2.20,<4", True),
        ("4.0", ">=2.20,<4", False),
        ("2.5", ">=2.20", False),
        ("1.2.9", "~=1.2.3", True),
        ("1.3", "~=1.2.3", False),
        ("2.0", "!=2.0", False),
    ],
)
def test_releases_are_compared_by_number(installed: str, condition: str, fits: bool) -> None:
    assert doctor._fits(installed, condition) is fits


def test_a_bill_is_there_where_a_price_is() -> None:
    bill = Bill()
    event = Event(author="a", usage_metadata=GenerateContentResponseUsageMetadata(prompt_token_count=1200))
    bill.note(event)
    assert bill.line() == "1,200 tokens in, 0 out, price unknown"
    usage = GenerateContentResponseUsageMetadata.model_validate({"prompt_token_count": 1200, "cost": 0.0042})
    bill.note(Event(author="a", usage_metadata=usage))
    assert bill.line() == "1,200 tokens in, 0 out, $0.0042"
    counts = {"prompt_token_count": 1200, "cached_content_token_count": 1024, "cost": 0.001}
    bill.note(Event(author="a", usage_metadata=GenerateContentResponseUsageMetadata.model_validate(counts)))
    assert bill.line() == "1,200 tokens in (1,024 from the cache), 0 out, $0.0010"
    assert bill.line() == ""
