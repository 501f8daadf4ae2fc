"""An installed plugin that cannot take part is left out and told; what the distribution names is an error."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import Any

import pytest

from newel_compose import compose
from newel_kernel import CompositionError, NewelError

STAGE = """
    from newel_kernel import RequestProcessor, hookimpl

    async def run(ctx, request): ...

    @hookimpl
    def register_request_processors():
        return [RequestProcessor({stage})]
"""


def stage(text: str) -> str:
    return STAGE.format(stage=text)


HOOK = "from newel_kernel import hookimpl\n\n@hookimpl\n"
#: What the plugin's module says, and why it is left out.
UNFIT = {
    "import": (
        "import no_such_sdk",
        "failed to load: ModuleNotFoundError: No module named 'no_such_sdk' (fake_odd.py:1)",
    ),
    "syntax": ("x = 1\ndef broken(:", "failed to load: SyntaxError: invalid syntax (fake_odd.py:2)"),
    "unmarked": (
        "def before_run_callback(invocation_context): ...\n\ndef register_settings(): ...",
        "it has hooks without @hookimpl of newel_kernel, which are never called: before_run_callback, "
        "register_settings; mark them",
    ),
    "name": (
        stage("name='contents', run=run"),
        "it provides 'contents', which newel 0.1.0 provides too; name it under `replace:` in newel.yaml",
    ),
    "descriptor": (
        "from newel.tools.kinds import ToolFactory\n"
        + HOOK
        + "def register_tool_factories(): return [ToolFactory(name='exit_loop', create=dict)]",
        "it provides the tool factory 'exit_loop', which newel 0.1.0 provides too; name one under `replace:` or "
        "disable the other in newel.yaml",
    ),
    "no place": (
        stage("name='odd', run=run"),
        "its 'odd' has no place: it is not in the distribution's chain and has no anchor (after= or before=)",
    ),
    "unknown anchor": (
        stage("name='odd', run=run, after=('content',)"),
        "its 'odd' is anchored to 'content', which does not exist; did you mean 'contents'?",
    ),
    "a text as anchor": (
        stage("name='odd', run=run, after='contents'"),
        "its register_request_processors returned 'odd' with after='contents'; write after=('contents',)",
    ),
    "disabled anchor": (
        stage("name='odd', run=run, after=('planning',)"),
        "its 'odd' is anchored to 'planning', but the distribution 'house' disables the plugin 'planning'",
    ),
    "circle": (
        stage("name='odd', run=run, after=('contents',), before=('basic',)"),
        "it makes a contradictory order",
    ),
    "wrong hook": (
        HOOK + "def before_model_calback(): ...",
        "it implements 'before_model_calback', which is not a hook; did you mean",
    ),
    "arguments": (
        HOOK + "def before_run_callback(context): ...",
        "it does not fit the hook specifications: Plugin 'odd' for hook 'before_run_callback'",
    ),
    "hook that raises": (
        HOOK + "def register_settings():\n    raise KeyError('x')",
        "it failed in register_settings: KeyError: 'x' (fake_odd.py:5 in register_settings)",
    ),
    "no list": (
        HOOK + "def register_tool_policies(): return None",
        "its register_tool_policies returned NoneType, not a list of ToolPolicy",
    ),
    "wrong item": (
        HOOK + "def register_tool_policies(): return [3]",
        "its register_tool_policies returned 3, not a ToolPolicy",
    ),
    "no settings": (
        HOOK + "def register_settings(): return dict",
        "its register_settings returned <class 'dict'>, which is not a pydantic model class",
    ),
    "settings without defaults": (
        "from pydantic import BaseModel\n"
        + HOOK
        + "def register_settings(): return Settings\n\nclass Settings(BaseModel):\n    url: str",
        "it needs settings: url: Field required",
    ),
    "kind": (
        "from newel_kernel import Kind\nfrom newel.tools import kinds\n"
        + HOOK
        + "def register_kinds(): return [Kind(kinds.ToolAdapter, kinds.register_tool_factories)]",
        "it declares the kind of 'register_tool_factories', which 'tools' declares too",
    ),
}


@pytest.fixture
def install(site: Any) -> Any:
    def put(source: str) -> None:
        site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd=source)
        site.stage("rag", distribution="rag", after=("contents",))

    return put


@pytest.mark.parametrize(("source", "why"), UNFIT.values(), ids=UNFIT)
class TestAPluginThatCannotTakePart:
    def test_is_told_and_left_out_where_it_is_only_installed(
        self, install: Any, extending: Any, caplog: pytest.LogCaptureFixture, source: str, why: str
    ) -> None:
        install(source)
        house = extending("standard", "disable: [planning]")
        with caplog.at_level(logging.WARNING, "newel.plugins"):
            composed = compose(house)
            compose(house)
        (line,) = {record.getMessage() for record in caplog.records}
        assert line.startswith(f"newel: plugin 'odd' (newel-odd 2.1) is left out: {why}")
        assert "\n" not in line
        (record,) = (one for one in composed.plugins if one.name == "odd")
        assert record.state == ("failed" if why.startswith("failed") else "left out")
        assert record.why.startswith(why)
        assert "rag" in [one.name for one in composed.request_chain]

    def test_stops_a_distribution_that_names_it(self, install: Any, extending: Any, source: str, why: str) -> None:
        install(source)
        with pytest.raises(NewelError, match=r"odd|contents"):
            compose(extending("standard", "disable: [planning]\nplugins: [odd]"))

    def test_stops_a_strict_distribution(self, install: Any, extending: Any, source: str, why: str) -> None:
        install(source)
        with pytest.raises(NewelError, match=r"odd|contents"):
            compose(extending("standard", "disable: [planning]\nstrict: true"))

    def test_stops_nothing_where_nothing_is_autoloaded(
        self, install: Any, caplog: pytest.LogCaptureFixture, source: str, why: str
    ) -> None:
        install(source)
        assert "odd" not in [one.name for one in compose("adk").plugins if one.state == "enabled"]
        assert not caplog.records


def test_one_that_needs_one_that_was_left_out_is_left_out_too(site: Any, extending: Any) -> None:
    site.stage("first", distribution="first", after=("nowhere",))
    site.stage("second", distribution="second", after=("first",))
    composed = compose("standard")
    assert {one.name for one in composed.plugins if one.state == "left out"} == {"first", "second"}


def test_of_two_that_clash_the_first_stays(site: Any) -> None:
    for name in ("alpha", "beta"):
        source = stage("name='rag', run=run, after=('contents',)")
        site.install(name, plugins={name: f"fake_{name}"}, **{f"fake_{name}": source})
    composed = compose("standard")
    assert {one.name: one.state for one in composed.plugins if one.name in ("alpha", "beta")} == {
        "alpha": "enabled",
        "beta": "left out",
    }


def test_a_name_of_a_built_in_plugin_is_no_way_to_replace_it(
    site: Any, extending: Any, caplog: pytest.LogCaptureFixture
) -> None:
    site.install("second", "2.0", plugins={"contents": "fake_b"}, fake_b="raise RuntimeError")
    composed = compose("minimal")
    assert composed.placed["request_chain"][3].source == "newel 0.1.0"
    assert [record.getMessage() for record in caplog.records] == [
        "newel: plugin 'contents' (second 2.0) is left out: newel 0.1.0 also has a plugin of that name; uninstall "
        "one of them"
    ]
    with pytest.raises(CompositionError, match="second 2"):
        compose(extending("minimal", "strict: true"))


class TestOptionalAnchors:
    def chain(self, site: Any, distribution: Any, **anchors: Any) -> list[str]:
        site.stage("rag", **anchors)
        return [one.name for one in compose(distribution).request_chain]

    def test_count_where_the_stage_is_there(self, site: Any) -> None:
        chain = self.chain(site, "standard", after=("planning?", "basic"))
        assert chain.index("rag") == chain.index("planning") + 1

    def test_are_passed_over_where_it_is_disabled_or_not_installed(self, site: Any, extending: Any) -> None:
        house = extending("standard", "disable: [planning]")
        chain = self.chain(site, house, after=("planning?", "nowhere?", "basic"))
        assert chain.index("rag") == chain.index("basic") + 1

    def test_without_any_it_is_the_end_of_the_chain(self, site: Any) -> None:
        assert self.chain(site, "standard", before=("nowhere?",))[-1] == "rag"
        assert compose("standard").placed["request_chain"][-1].why == "the end of the chain"


def test_an_object_with_hooks_that_are_not_marked_is_refused() -> None:
    class Plugin:
        name = "mine"

        def before_run_callback(self, invocation_context: Any) -> None: ...

    with pytest.raises(CompositionError, match="'mine' has hooks without @hookimpl"):
        compose("minimal", plugins=[Plugin()])


def test_several_problems_stand_one_a_line(extending: Any) -> None:
    with pytest.raises(CompositionError) as caught:
        compose(extending("minimal", "request_chain: [bsic, contnts]"))
    assert len(caught.value.problems) == len(str(caught.value).splitlines()) > 1


def test_the_line_goes_to_stderr(site: Any, tmp_path: Any) -> None:
    site.install("newel-odd", plugins={"odd": "fake_odd"}, fake_odd="raise RuntimeError('no luck')")
    code = f"import sys; sys.path.insert(0, {str(site.path)!r}); from newel_compose import compose; compose()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == (
        "newel: plugin 'odd' (newel-odd 1.0) is left out: failed to load: RuntimeError: no luck (fake_odd.py:1); "
        "fix or uninstall newel-odd, or list it under `disable:`\n"
    )


@pytest.mark.parametrize(
    "module",
    [
        "def fail():\n    raise RuntimeError('no luck')\nfail()",
        HOOK + "def register_settings():\n    raise RuntimeError('no luck')",
    ],
)
def test_with_debugging_its_traceback_follows(site: Any, tmp_path: Any, module: str) -> None:
    site.install("newel-odd", plugins={"odd": "fake_odd"}, fake_odd=module)
    code = f"import sys; sys.path.insert(0, {str(site.path)!r}); from newel_compose import compose; compose()"
    env = {**os.environ, "NEWEL_DEBUG": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    first, *rest = done.stderr.splitlines()
    assert first.startswith("newel: plugin 'odd' (newel-odd 1.0) is left out: ")
    assert rest[0].startswith("Traceback")
    assert "    raise RuntimeError('no luck')" in rest
