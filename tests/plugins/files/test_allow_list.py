"""The allow-list: code that an agent file may name, and proof that nothing else runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from newel.files import AppCode
from newel_kernel import ConfigurationError


def tool(name: str) -> str:
    return f"name: x\ndescription: d\ntools:\n  - {name}\n"


@pytest.mark.parametrize("key", ["tools", "before_model_callback", "output_schema", "agent_class", "planner", "code"])
@pytest.mark.parametrize("name", ["tripwire.go", "tripwire.sub.go", "weather.tripwire.go"])
def test_code_outside_the_folder_is_not_even_imported(
    folder: Any, tripwire: Callable[[], bool], key: str, name: str
) -> None:
    line = {"tools": f"tools: [{name}]", "code": f"sub_agents: [{{code: {name}}}]"}.get(key, f"{key}: {name}")
    message = folder.refused(f"name: x\ndescription: d\n{line}\n")
    assert message.startswith(f"root_agent.yaml:3: {name!r} is not allowed here: ")
    assert not tripwire()
    assert "tripwire" not in sys.modules


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "subprocess.run", "posix.system", "sys.exit"])
@pytest.mark.parametrize("args", ["", "\n    args: [{value: touch executed}]"], ids=["named", "called"])
def test_the_standard_library_is_outside(
    folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, args: str
) -> None:
    monkeypatch.chdir(tmp_path)
    message = folder.refused(f"name: x\ntools:\n  - name: {name}{args}\n")
    assert message.startswith(f"root_agent.yaml:3: {name!r} is not allowed here")
    assert not (tmp_path / "executed").exists()


def test_a_wrong_key_stops_the_reading_before_code_runs(folder: Any, tmp_path: Path) -> None:
    folder.write("tools.py", f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\ndef f(): ...\n")
    folder.refused("name: x\ntools: [tools.f]\nmodle: y\n")
    assert not (tmp_path / "ran").exists()


IMPORTED = """
import os
import os as system_module
from os import system
from functools import partial
from random import choice
from shutil import rmtree as kept
__all__ = ["kept"]
class Box:
    @staticmethod
    def inside(): ...
    helper = os
box = Box()
def _hidden(): ...
def mine(): ...
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tools.system", "'system' comes from 'posix', not from the app; wrap it in a function of your own"),
        ("tools.partial", "'partial' comes from 'functools'"),
        ("tools.choice", "'choice' comes from 'random'"),
        ("tools.os.system", "'os' is a module"),
        ("tools.Box.helper.system", "'helper' is a module"),
        ("tools.box.inside", "name something that a module of the app defines"),
        ("tools.system_module", "'system_module' is a module"),
        ("tools.mine.__globals__", "is not a name of the form module.function"),
        ("tools._hidden", "is not a name of the form module.function"),
        ("tools.mien", "does not exist; did you mean 'mine'?"),
    ],
)
def test_what_a_module_merely_imports_is_not_the_apps(folder: Any, name: str, message: str) -> None:
    folder.write("tools.py", IMPORTED)
    refusal = folder.refused(tool(name))
    assert refusal.startswith(f"root_agent.yaml:4: {name!r} ")
    assert message in refusal


def test_what_is_the_apps(folder: Any) -> None:
    folder.write("tools.py", IMPORTED)
    folder.write("deep/er/more.py", "from ...tools import mine\ndef own(): ...\n")
    folder.write("__init__.py", "def top(): ...\n")
    names = ["tools.mine", "weather.tools.mine", "tools.Box.inside", "tools.kept", "deep.er.more.own", "weather.top"]
    agent = folder.load("name: x\ntools:\n" + "".join(f"  - {name}\n" for name in names))
    assert [t.__name__ for t in agent.tools] == ["mine", "mine", "inside", "rmtree", "own", "top"]
    assert agent.tools[0] is agent.tools[1]


def test_sys_path_stays_and_two_apps_do_not_mix(tmp_path: Path) -> None:
    before = list(sys.path)
    found = []
    for place in ("one", "two"):
        folder = tmp_path / place / "same_name"
        folder.mkdir(parents=True)
        (folder / "tools.py").write_text(f"from . import words\ndef f(): return words.WORD + {place!r}\n")
        (folder / "words.py").write_text(f"WORD = 'a {place} '\n")
        found.append(AppCode(folder).find("same_name.tools.f"))
    assert [f() for f in found] == ["a one one", "a two two"]
    assert sys.path == before
    assert "tools" not in sys.modules
    assert "words" not in sys.modules


def test_a_folder_may_bear_the_name_of_a_library(tmp_path: Path) -> None:
    folder = tmp_path / "json"
    folder.mkdir()
    (folder / "tools.py").write_text("import json\ndef f(): return json.dumps([1])\n")
    assert AppCode(folder).find("json.tools.f")() == "[1]"
    assert sys.modules["json"] is json


def test_links_do_not_lead_out_of_the_folder(folder: Any, tmp_path: Path, tripwire: Callable[[], bool]) -> None:
    outside = tmp_path / "site" / "tripwire.py"
    (folder.path / "linked.py").symlink_to(outside)
    (folder.path / "package").mkdir()
    (folder.path / "package" / "__init__.py").symlink_to(outside)
    folder.write("package/inner.py", "def f(): ...\n")
    (folder.path / "site").symlink_to(outside.parent)
    for name in ("linked.go", "package.go", "package.inner.f", "site.tripwire.go"):
        assert "is a link that leads out of the app's folder" in folder.refused(tool(name))
    assert not tripwire()


def test_a_module_that_cannot_be_imported(folder: Any) -> None:
    folder.write("tools.py", "import helpers\n")
    folder.write("helpers.py", "")
    folder.write("broken.py", "def f(:\n")
    message = folder.refused(tool("tools.f"))
    assert message.startswith("root_agent.yaml:4: the module 'tools' (")
    assert message.endswith("a module of the app's own folder is imported with `from . import helpers`")
    folder.write("absolute.py", "from weather.helpers import x\n")
    assert folder.refused(tool("absolute.f")).endswith("is imported with `from . import ...`")
    assert "cannot be imported: SyntaxError" in folder.refused(tool("broken.f"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tools: [tools.number]", "int is not a tool"),
        ("tools: [{name: tools.number, args: {}}]", "'tools.number' takes no args: it is not callable"),
        ("tools: [{name: tools.fails, args: {}}]", "cannot be made of these args: ZeroDivisionError: division by zero"),
        ("output_schema: tools.fails", "output_schema: expected a class, not a function"),
        ("before_agent_callback: tools.number", "a callback is a function, not int"),
        ("sub_agents: [{code: tools.number}]", "'tools.number' is int, not an agent"),
        ("agent_class: tools.Plain", "agent_class 'tools.Plain' is not an agent class"),
    ],
)
def test_code_of_the_wrong_kind(folder: Any, text: str, message: str) -> None:
    folder.write("tools.py", "number = 3\nclass Plain: ...\ndef fails(): return 1 / 0\n")
    assert message in folder.refused(f"name: x\n{text}\n")


def test_a_tool_class_is_instantiated(folder: Any) -> None:
    folder.write(
        "tools.py",
        """
        from newel.tools import BaseTool

        class Own(BaseTool):
            def __init__(self):
                super().__init__(name="own", description="Mine.")

        instance = Own()
    """,
    )
    agent = folder.load("name: x\ntools: [tools.Own, tools.instance]\n")
    assert [t.name for t in agent.tools] == ["own", "own"]


def test_there_is_no_package_to_import_from_nowhere(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not a name of the form"):
        AppCode(tmp_path).find("function")


_PARTS = st.sampled_from(
    [
        "weather",
        "tools",
        "sub",
        "inner",
        "f",
        "Box",
        "os",
        "sys",
        "system",
        "tripwire",
        "go",
        "_private",
        "__init__",
        "__class__",
        "__globals__",
        "__builtins__",
        "",
        " ",
        "..",
        "/",
        "tools.py",
        "nested/module",
        "\0",
        "é",
    ]
)


@settings(max_examples=100, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(parts=st.lists(_PARTS, max_size=5))
@example(parts=["weather", "sub", "inner", "f"])
@example(parts=["tools", "Box", "f"])
@example(parts=["tools", "os", "system"])
def test_a_name_of_any_kind_reaches_the_folder_or_nothing(
    folder: Any, tripwire: Callable[[], bool], parts: list[str]
) -> None:
    folder.write("tools.py", "import os\ndef f(): ...\nclass Box:\n    f = f\n")
    folder.write("sub/inner.py", "from os import system\ndef f(): ...\n")
    try:
        value = AppCode(folder.path).find(".".join(parts))
    except ConfigurationError:
        assert not tripwire()
        return
    assert getattr(value, "__name__", "") in ("f", "Box")
    assert Path(sys.modules[getattr(value, "__module__", "")].__file__ or "").parent.is_relative_to(folder.path)
    assert not tripwire()
