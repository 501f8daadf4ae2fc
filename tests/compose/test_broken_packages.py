"""A broken package breaks only itself; what the configuration names fails closed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.evaluation.metrics.loadable_code import load_function
from newel_compose import compose, installed_points
from newel_compose._internal.package_files import parsed
from newel_kernel import ConfigurationError, NewelError, PluginLoadError


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("entry_points.txt", "[console_scripts]\nfür = x:y\n".encode("latin-1")),
        ("entry_points.txt", b"\xff\xfe\x00\x01" * 50),
        ("entry_points.txt", b"[newel.plugins]\nodd\n"),
        ("entry_points.txt", b"[newel.plugins]\nodd = fake_\xff\n"),
        ("METADATA", "Name: odd\nAuthor: Müller\n".encode("latin-1")),
    ],
)
def test_damaged_metadata_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes) -> None:
    folder = tmp_path / "odd-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_bytes(b"Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n\n")
    (folder / "entry_points.txt").write_bytes(b"[newel.plugins]\nodd = no_such_module\n")
    (folder / name).write_bytes(data)
    monkeypatch.syspath_prepend(str(tmp_path))
    states = {record.name: record.state for record in compose("standard").plugins}
    assert states["contents"] == "enabled"
    assert states.get("odd", "failed") == "failed"


@given(st.text(max_size=200))
def test_any_text_can_be_read_for_entry_points(text: str) -> None:
    assert all(len(entry) == 3 for entry in parsed(text))


RAISES = [
    "SystemExit(0)",
    "GeneratorExit",
    "KeyboardInterrupt",
    "KeyboardInterrupt('of its own') from ValueError('x')",
    "type('E', (BaseException,), {})('x')",
]


@pytest.mark.parametrize("error", RAISES)
@pytest.mark.parametrize("where", ["", "from newel_kernel import hookimpl\n@hookimpl\ndef register_settings():\n    "])
def test_a_plugin_that_raises_anything_is_left_out(site: Any, error: str, where: str) -> None:
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd=f"{where}raise {error}")
    record = next(record for record in compose("standard").plugins if record.name == "odd")
    assert record.state in ("failed", "left out")
    sys.modules.pop("fake_odd", None)


@pytest.mark.parametrize(
    "source",
    [
        "import signal\nsignal.raise_signal(signal.SIGINT)",
        "import _thread\n_thread.interrupt_main()\nfor _ in range(10): pass",
        "import signal\ntry:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n    raise",
        "from signal import *\ntry:\n    raise_signal(SIGINT)\nexcept BaseException:\n    raise KeyboardInterrupt",
    ],
)
def test_what_a_person_interrupts_while_a_plugin_loads_ends(site: Any, source: str) -> None:
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd=source)
    with pytest.raises(KeyboardInterrupt):
        compose("standard")
    sys.modules.pop("fake_odd", None)


def test_an_interrupt_in_a_handler_of_the_programs_own_ends(site: Any) -> None:
    source = "import signal\nsignal.raise_signal(signal.SIGINT)"
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd=source)

    def interrupted(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            compose("standard")
    finally:
        signal.signal(signal.SIGINT, before)
    sys.modules.pop("fake_odd", None)


HOOK = "from newel_kernel import hookimpl\n@hookimpl\ndef register_tool_policies():\n    "
DISTURBS = {
    "os.close(1)": "closes or redirects stdout",
    "os.close(2)": "closes or redirects stderr",
    "os.close(0)": "closes or redirects stdin",
    "[os.close(n) for n in range(3)]": "closes or redirects stdin and closes or redirects stdout",
    "sys.stdout.close()": "closes or redirects stdout",
    "sys.stderr.close()": "closes or redirects stderr",
    "setattr(sys, 'stdout', None)": "closes or redirects stdout",
    "os.dup2(os.open(os.devnull, os.O_WRONLY), 1)": "closes or redirects stdout",
    "os.chdir('/')": "changes the working folder",
}
RUN = """
import os, newel
from newel.testing import ScriptedModel
print('ANSWER', newel.run(newel.Agent(name='a', model=ScriptedModel(['hello'])), 'hi'), os.getcwd())
"""


@pytest.mark.parametrize(("where", "flags"), [("", ()), ("", ("-O",)), (HOOK, ())], ids=["import", "optimized", "hook"])
@pytest.mark.parametrize("act", DISTURBS)
def test_a_plugin_that_takes_what_the_program_stands_on_is_left_out(
    tmp_path: Path, act: str, where: str, flags: tuple[str, ...]
) -> None:
    (tmp_path / "odd-1.0.dist-info").mkdir()
    (tmp_path / "odd-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n\n")
    (tmp_path / "odd-1.0.dist-info/entry_points.txt").write_text("[newel.plugins]\nodd = fake_odd\n")
    (tmp_path / "fake_odd.py").write_text(f"import os, sys\n{where}{act}\n")
    ended = subprocess.run(
        [sys.executable, *flags, "-c", RUN],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert ended.stdout == f"ANSWER hello {tmp_path}\n", ended.stderr
    assert "plugin 'odd' (odd 1.0) is left out" in ended.stderr
    assert DISTURBS[act] in ended.stderr


@pytest.mark.parametrize("act", ["raise KeyboardInterrupt", "os.close(1)", "os.chdir('/')"])
def test_a_configured_plugin_that_does_so_stops_the_program_with_its_name(site: Any, extending: Any, act: str) -> None:
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd=f"import os, sys\n{act}")
    with pytest.raises(PluginLoadError, match=r"'odd' \(newel-odd 2.1, fake_odd\) failed to load"):
        compose(extending("standard", "settings: {odd: {}}"))
    sys.modules.pop("fake_odd", None)


def test_a_plugin_may_wrap_a_stream(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    source = "import io, sys\nsys.stdout = io.TextIOWrapper(io.BytesIO())"
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd=source)
    assert next(record for record in compose("standard").plugins if record.name == "odd").state == "enabled"
    sys.modules.pop("fake_odd", None)


def test_a_plugin_whose_names_cannot_be_listed_is_left_out(site: Any) -> None:
    source = "class Odd:\n    def __dir__(self):\n        raise RuntimeError('no names')\n\nplugin = Odd()"
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd:plugin"}, fake_odd=source)
    record = next(record for record in compose("standard").plugins if record.name == "odd")
    assert (record.state, "RuntimeError: no names" in record.why) == ("left out", True)


def test_a_plugin_that_is_only_configured_must_load(site: Any, extending: Any) -> None:
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd="import no_such_sdk")
    with pytest.raises(PluginLoadError, match=r"the plugin 'odd' .* failed to load"):
        compose(extending("standard", "settings: {odd: {}}"))


def test_a_file_that_enables_and_disables_a_plugin_is_refused(site: Any, extending: Any) -> None:
    with pytest.raises(ConfigurationError, match="'planning' is listed under `plugins` and under `disable`"):
        compose(extending("standard", "plugins: [planning]\ndisable: [planning]"))


CONFIGURED = [
    "settings: {odd: {}}",
    "settings: {odd: {strict: true}}",
    "replace: {planning: odd}",
    "replace: {prologues/turns: odd}",
    "plugins: [odd]",
    "orders: {prologues: [odd]}",
]


@pytest.mark.parametrize("base", ["minimal", "adk", "standard", "over"])
@pytest.mark.parametrize("body", CONFIGURED)
@pytest.mark.parametrize("source", ["import no_such_sdk", "raise SystemExit(0)", "x = 1"])
def test_a_configured_plugin_is_never_silently_off(
    site: Any, extending: Any, base: str, body: str, source: str
) -> None:
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd=source)
    if (body, source) == ("plugins: [odd]", "x = 1"):
        return  # it takes part
    start = extending("minimal", "autoload: false", name="base") if base == "over" else base
    with pytest.raises(NewelError, match="odd"):
        compose(extending(start, body))


@pytest.mark.parametrize("body", ["settings: {odd: {}}", "replace: {planning: odd}"])
def test_what_a_file_configures_cannot_be_disabled_by_the_one_that_it_extends(
    site: Any, extending: Any, body: str
) -> None:
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd="x = 1")
    base = extending("standard", "disable: [odd]", name="base")
    with pytest.raises(
        ConfigurationError, match=r"house.yaml: configures the plugin 'odd', which .*base.yaml disables"
    ):
        compose(extending(base, body))


def test_the_child_decides_which_plugins_of_its_base_take_part(extending: Any) -> None:
    enabling = compose(extending(extending("standard", "disable: [notebook]", name="base"), "plugins: [notebook]"))
    disabling = compose(extending(extending("standard", "plugins: [notebook]", name="base"), "disable: [notebook]"))
    states = [
        next(record.state for record in composition.plugins if record.name == "notebook")
        for composition in (enabling, disabling)
    ]
    assert states == ["enabled", "disabled"]


@pytest.mark.parametrize("name", ["standard", "adk", "minimal"])
@pytest.mark.parametrize("package", ["a-odd", "zz-odd"])
def test_a_package_that_shadows_a_built_in_distribution_is_left_out_by_name(
    site: Any, caplog: pytest.LogCaptureFixture, name: str, package: str
) -> None:
    module = package.replace("-", "_") + name
    site.install(package, "2.1", distributions={name: module}, **{module: ""})
    folder = site.path / module
    (site.path / f"{module}.py").unlink(missing_ok=True)
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").write_text("")
    (folder / f"{name}.yaml").write_text(f"name: {name}\nplugins: []\n")
    assert any(record.state == "enabled" for record in compose("standard").plugins)
    assert compose(name).distribution.name == name
    (line,) = [r.getMessage() for r in caplog.records if package in r.getMessage()]
    assert line == (
        f"newel: the distribution '{name}' ({package} 2.1) is left out: newel 0.1.0 has one of that name, "
        f"too; uninstall {package}"
    )


@pytest.mark.parametrize(
    "data", [b"[newel.plugins]\nodd\n", b"\xff\xfe\x00\x01", "[x]\nfür = x:y\n".encode("latin-1"), b"[newel.plugins"]
)
def test_installed_plugins_are_listed_beside_damaged_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    folder = tmp_path / "odd-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_bytes(data)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = [point.name for point in installed_points()]
    assert "contents" in names
    assert names == sorted(names)
    assert load_function("newel.evaluation.metrics.loadable_code.load_function") is load_function


ANSWERING = """
import newel
from newel.testing import ScriptedModel
print("ANSWER", newel.run(newel.Agent(name="a", model=ScriptedModel(["hello"])), "hi"))
"""
#: What a process may do first, and what it then prints.
PROGRAMS = {
    ANSWERING: "ANSWER hello",
    "import newel_compose; print(newel_compose.compose('minimal').distribution.name)": "minimal",
    "from newel_kernel import Event; print(Event(author='a').author)": "a",
    "from newel_types import Content; print(Content(role='user').role)": "user",
    "import sys; sys.argv = ['newel', 'plugins']; from newel.cli.main import main; main()": "enabled",
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("data", ["[x]\nfür = x:y\n".encode("latin-1"), b"\xff\xfe\x00\x01" * 9, b"[x]\nodd\n"])
def test_metadata_that_pydantic_cannot_read_stops_no_process(tmp_path: Path, program: str, data: bytes) -> None:
    folder = tmp_path / "odd-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_bytes(data)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        check=False,
    )
    assert PROGRAMS[program] in ran.stdout, ran.stderr
    (line,) = [one for one in ran.stderr.splitlines() if "plugins of pydantic" in one]
    assert line.startswith("newel: plugins of pydantic are off in this process, because reading them failed (")
    assert line.endswith(f"; reinstall or uninstall {folder.resolve()}")


def test_plugins_of_pydantic_are_read_as_before(tmp_path: Path) -> None:
    folder = tmp_path / "fine-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("[pydantic]\nfine = fine_plugin:plugin\n")
    (tmp_path / "fine_plugin.py").write_text(
        "class Plugin:\n    def new_schema_validator(self, *args):\n        print('READ')\n"
        "        return None, None, None\n\nplugin = Plugin()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", ANSWERING],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        check=False,
    )
    assert ("READ" in ran.stdout, "ANSWER hello" in ran.stdout, ran.stderr) == (True, True, "")
