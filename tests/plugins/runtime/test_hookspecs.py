"""The hookspecs: their examples run, they are what the kernel calls, each registration hook has its descriptor."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import types
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import newel_compose
import newel_kernel
from newel.agents import LlmAgent
from newel.budgets import BudgetStore
from newel.flows.context_budget.kinds import ContextStrategy
from newel.limits.kinds import LimitBackend
from newel.models import BaseLlm
from newel.plugins import BasePlugin
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_compose import Composition, Distribution, compose, load
from newel_compose._internal import hookspecs as composing_hookspecs
from newel_kernel import (
    KERNEL_KINDS,
    LIFECYCLE,
    ConfigurationError,
    Kind,
    LlmRequest,
    LlmResponse,
    SessionGate,
    hookimpl,
    lifecycle_hookspecs,
    registration_hookspecs,
)
from newel_types import Content, FunctionCall, Part


class Parrot(BaseLlm):
    """Echoes; calls a tool on "call NAME"; words a result; breaks on "fail"."""

    model: str = "parrot"

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        part = (llm_request.contents[-1].parts or [Part(text="")])[-1]
        if part.function_response is not None:
            answered = part.function_response
            response = answered.response or {}
            answer = Part(text=f"{answered.name} gave {response}")
        elif part.text == "fail":
            raise RuntimeError("the kettle is broken")
        elif part.text and part.text.startswith("call "):
            args = {"leaf": "oolong"} if part.text == "call brew" else {}
            answer = Part(function_call=FunctionCall(name=part.text[5:], args=args))
        else:
            answer = Part(text=f"you said: {part.text}")
        yield LlmResponse(content=Content(role="model", parts=[answer]))


def brew(leaf: str) -> str:
    """Brews tea."""
    return f"a pot of {leaf}"


def smash() -> str:
    """Smashes the pot."""
    raise ValueError("the pot is gone")


def say(plugin: Any, message: str) -> str:
    """One turn with `plugin`; the last event's text."""

    async def turn() -> str:
        runner = Runner(
            app_name="tearoom",
            agent=LlmAgent(name="waiter", model=Parrot(), tools=[brew, smash]),
            plugins=[plugin],
            session_service=InMemorySessionService(),
            auto_create_session=True,
            composition=compose("adk"),
        )
        events = [e async for e in runner.run_async(user_id="ada", session_id="s1", new_message=message)]
        return events[-1].content.parts[-1].text or ""  # type: ignore[union-attr,index]

    return asyncio.run(turn())


def functions(module: types.ModuleType) -> dict[str, Any]:
    """The hookspec functions that `module` defines, in order."""
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and hasattr(value, "newel_spec")
    }


def declared() -> dict[str, list[Kind[Any]]]:
    """The kinds of the built-in plugins, by the plugin that declares them."""
    plugins, _ = load([point.name for point in entry_points(group="newel.plugins") if point.value.startswith("newel.")])
    return {name: plugin.register_kinds() for name, plugin in plugins.items() if hasattr(plugin, "register_kinds")}


OWNERS = declared()
KINDS = [*KERNEL_KINDS, *(kind for kinds in OWNERS.values() for kind in kinds)]
ROOMS = sorted({kind.specification.__module__ for kinds in OWNERS.values() for kind in kinds})
#: The modules that hold the specifications.
SPECIFICATIONS = (
    composing_hookspecs,
    registration_hookspecs,
    lifecycle_hookspecs,
    *(import_module(name) for name in ROOMS),
)
NAMES = {name: getattr(package, name) for package in (newel_kernel, newel_compose) for name in package.__all__}
GLOBALS = {
    **NAMES,
    "dataclass": dataclass,
    "BaseModel": BaseModel,
    "BasePlugin": BasePlugin,
    "Content": Content,
    "InMemorySessionService": InMemorySessionService,
    "Part": Part,
    "ScriptedModel": ScriptedModel,
    "say": say,
}
EXAMPLES = [
    pytest.param(test, id=f"{module.__name__}.{test.name.rpartition('.')[2]}")
    for module in SPECIFICATIONS
    for test in doctest.DocTestFinder().find(module, extraglobs=GLOBALS)
    if test.examples
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_example_of_a_hookspec_runs(example: doctest.DocTest) -> None:
    report: list[str] = []
    outcome = doctest.DocTestRunner().run(example, out=report.append)
    assert outcome.failed == 0, "".join(report)


@pytest.mark.parametrize("module", SPECIFICATIONS)
def test_every_hookspec_has_an_example_and_says_what_it_is_for(module: types.ModuleType) -> None:
    for name, spec in functions(module).items():
        assert spec.__doc__, name
        assert ">>> " in spec.__doc__, name
        assert f"def {name}(" in spec.__doc__, name
        if module is lifecycle_hookspecs:
            assert spec.__doc__.startswith(("Interceptor, ", "Observer: ")), name


def test_the_examples_of_the_other_modules_run() -> None:
    folder = Path(newel_kernel.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(("newel_kernel", *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        module = import_module(name)
        if module not in SPECIFICATIONS:
            outcome = doctest.testmod(module, extraglobs=GLOBALS)
            assert outcome.failed == 0, name


def test_the_lifecycle_that_the_kernel_calls_is_the_one_that_is_specified() -> None:
    specifications = functions(lifecycle_hookspecs).items()
    specified = {name: tuple(inspect.signature(spec).parameters) for name, spec in specifications}
    assert specified == {name: hook.keywords for name, hook in LIFECYCLE.items()}


def test_the_hooks_of_a_base_plugin_are_the_specified_ones() -> None:
    for name, hook in LIFECYCLE.items():
        parameters = list(inspect.signature(getattr(BasePlugin, name)).parameters.values())[1:]
        assert tuple(p.name for p in parameters) == hook.keywords, name
        assert {p.kind for p in parameters} == {inspect.Parameter.KEYWORD_ONLY}, name
    assert {name for name in vars(BasePlugin) if name.endswith("_callback")} == set(LIFECYCLE)


def test_an_observer_promises_nothing_and_an_interceptor_may_answer() -> None:
    for name, spec in functions(lifecycle_hookspecs).items():
        promised = inspect.signature(spec).return_annotation
        returns = LIFECYCLE[name].returns
        assert (promised == "None") == (returns is None) == str(spec.__doc__).startswith("Observer"), name
        if returns is not None:
            assert promised.startswith((f"{returns.__name__} |", f"{returns.__name__}[str, Any] |")), name


def test_every_kind_says_what_its_hook_returns() -> None:
    specified = {name for m in SPECIFICATIONS if m is not lifecycle_hookspecs for name in functions(m)}
    of_the_host = {"register_settings", "register_kinds", "register_hook_policies", "register_stage_policies"}
    assert {kind.hook for kind in KINDS} | of_the_host == specified
    for kind in KINDS:
        signature = inspect.signature(kind.specification)
        assert signature.return_annotation == f"Sequence[{kind.descriptor.__name__}]"
        assert list(signature.parameters) == ["settings"]
    assert len({kind.descriptor for kind in KINDS}) == len(KINDS)


def idle(*args: Any) -> None:
    """A step that has nothing to do."""


#: Where a stage stands that the distribution does not name.
_ANCHORS = {
    "register_request_processors": ("contents",),
    "register_live_out": ("checks",),
    "register_live_in": ("screening",),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.hook)
def test_a_descriptor_from_a_hook_lands_where_it_belongs(kind: Kind[Any]) -> None:
    fields = {
        "run": idle,
        "wrap": lambda call: call,
        "open": say,
        "create": say,
        "load": say,
        "accepts": callable,
        "adapt": say,
        "notify": idle,
        "redact": say,
        "make": idle,
        "user_of": idle,
        "path": "/mine",
        "title": "Mine",
        "element": "my-panel",
        "source": str,
        "after": _ANCHORS.get(kind.hook, ()),
    }
    wanted = inspect.signature(kind.descriptor).parameters
    name = "gate" if kind.descriptor is SessionGate else "mine"
    made = kind.descriptor(name=name, **{name: value for name, value in fields.items() if name in wanted})

    def register() -> Sequence[Any]:
        return [made]

    plugin = types.SimpleNamespace(name="mine", **{kind.hook: hookimpl(register)})
    chains = {
        "register_request_processors": "request_chain",
        "register_response_processors": "response_chain",
        "register_result_processors": "result_chain",
        "register_tool_policies": "tool_chain",
    }
    if kind.hook in chains:
        body = {"name": "bare", "request_chain": (), chains[kind.hook]: ("mine",)}
        body |= {"request_chain": ("contents", "mine"), "plugins": ("contents",)} if "request" in kind.hook else {}
        composed = compose(Distribution(**body), plugins=[plugin])
        found = getattr(composed, chains[kind.hook])[-1]
    else:
        home = "standard" if kind.descriptor in (ContextStrategy, BudgetStore, LimitBackend) else "adk"
        house = compose(home).distribution.model_copy(update={"replace": {name: "mine"} if name == "gate" else {}})
        found = compose(house, plugins=[plugin]).registry.find(kind.descriptor, name)
    assert type(found) is kind.descriptor
    for name in wanted:  # functions may stand in a guard
        value, given = getattr(found, name), getattr(made, name)
        assert (inspect.unwrap(value) if callable(value) else value) is given


@pytest.mark.parametrize("owner", OWNERS)
def test_what_fills_a_kind_is_left_out_where_its_owner_is_not_enabled(owner: str) -> None:
    hooks = sorted(kind.hook for kind in OWNERS[owner])

    def register() -> Sequence[Any]:
        raise AssertionError("nobody asks")

    plugin = types.SimpleNamespace(name="mine", **{hook: hookimpl(register) for hook in hooks})
    composed: Composition = compose(Distribution(name="bare"), plugins=[plugin])
    assert composed.plugins[0].hooks == ()
    assert composed.plugins[0].left_out == tuple(f"{hook}: no enabled plugin declares that kind" for hook in hooks)
    for kind in OWNERS[owner]:
        with pytest.raises(ConfigurationError, match="no enabled plugin declares what a"):
            composed.registry.find(kind.descriptor, "mine")
