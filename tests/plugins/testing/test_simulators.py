"""The former names of newel-testkit's simulators: they are that package's; without it, an error says so."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

import newel.testing

FOLDER = Path(newel.testing.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(FOLDER).with_suffix("").parts).removesuffix(".__init__")
    for path in FOLDER.rglob("*.py")
    if path.read_text(encoding="utf-8").count("moved(") == 1 and path.parent.name != "testing"
)
MODULES += ["gemini_server", "oauth_server"]


@pytest.mark.parametrize("name", MODULES)
def test_a_former_module_gives_every_public_name_of_the_new_one(name: str) -> None:
    former, now = import_module(f"newel.testing.{name}"), import_module(f"newel_testkit.{name}")
    names = [one for one in dir(now) if not one.startswith("_")]
    assert names
    assert all(getattr(former, one) is getattr(now, one) for one in names)


def test_former_names_of_newel_testing_are_the_testkits() -> None:
    import newel_testkit

    assert newel_testkit._WHERE.keys() >= newel.testing._SIMULATORS
    assert newel.testing.OAuthServer is newel_testkit.OAuthServer
    from newel.testing.live import gemini_messages

    assert gemini_messages.turn_complete()


@pytest.mark.parametrize("name", ["OAuthServer", "live.Wait", "live.dialects.GeminiDialect", "wire.faults.fault"])
def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for module in [one for one in sys.modules if one.split(".")[0] == "newel_testkit"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "newel_testkit", None)  # type: ignore[arg-type]
    *path, attribute = name.split(".")
    module = import_module(".".join(["newel.testing", *path]))
    with pytest.raises(ImportError, match="pip install newel-testkit"):
        getattr(module, attribute)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = newel.testing.nothing_such
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = import_module("newel.testing.live").nothing_such
