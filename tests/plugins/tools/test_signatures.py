"""Function tools of any signature: what is declared is legal, and what a model sends in reply reaches the function.

NEWEL_EXAMPLES=3000 makes as many signatures for each property.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jsonschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.plugins.tools.typing_forms import FORMS, NAMES, Form

from newel.agents import Context, LlmAgent
from newel.models.scripted import ScriptedModel
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.tools import FunctionTool, ToolContext
from newel.tools.kinds import adapt_tool
from newel_kernel import RunConfig, Session
from newel_testkit.wire.gemini_rules import refusal

EXAMPLES = int(os.environ.get("NEWEL_EXAMPLES", "60"))
MISSING = object()
WORDS = ("a", "_b", "model_config", "schema", "name", "größe", "copy")
KINDS = ("positional", "plain", "keyword")
STYLES = ("none", "summary", "google", "numpy", "rest", "epytext")
WRAPPINGS = ("function", "method", "classmethod", "staticmethod", "object", "partial", "wrapped", "lambda", "class")


@dataclass(frozen=True)
class Slot:
    name: str
    form: Form
    kind: str
    default: Any = MISSING


@dataclass(frozen=True)
class Made:
    """A callable, and what of its signature a model may fill in."""

    function: Callable[..., Any]
    slots: tuple[Slot, ...]
    args: Form | None
    kwargs: Form | None
    doc: str
    source: str

    def __repr__(self) -> str:
        return self.source


def docstring(style: str, slots: tuple[Slot, ...]) -> str:
    names = [slot.name for slot in slots]
    if style == "epytext" and not all(map(str.isascii, names)):
        style = "rest"  # docstring_parser reads names of ASCII only there
    summary = "Do the work.\n\nIt takes a while."
    if style in ("none", "summary") or not names:
        return "" if style == "none" else summary
    lines = {
        "google": ["Args:", *(f"    {n}: The thing {n}." for n in names), "", "Raises:", "    ValueError: Never."],
        "numpy": ["Parameters", "----------", *(f"{n}\n    The thing {n}." for n in names)],
        "rest": [f":param {n}: The thing {n}." for n in names],
        "epytext": [f"@param {n}: The thing {n}." for n in names],
    }[style]
    return "\n".join([summary, "", *lines])


def written(slot: Slot, bare: bool) -> str:
    annotation = f": {slot.form.text}" if slot.form.text and not bare else ""
    return f"{slot.name}{annotation}" + ("" if slot.default is MISSING else f" = d_{slot.name}")


def parameter_list(slots: tuple[Slot, ...], args: Form | None, kwargs: Form | None, context: str, bare: bool) -> str:
    def star(name: str, form: Form) -> str:
        return f"{name}: {form.text}" if form.text and not bare else name

    shown = [written(slot, bare) for slot in slots]
    ends = sum(slot.kind == "positional" for slot in slots)
    named = [text for text, slot in zip(shown, slots, strict=True) if slot.kind == "keyword"]
    plain = [text for text, slot in zip(shown, slots, strict=True) if slot.kind == "plain"]
    found = shown[:ends] + (["/"] if ends else []) + plain
    if args is not None:
        found.append(star("*rest", args))
    elif named or context:
        found.append("*")
    found += [*named, *([context] if context else [])]
    if kwargs is not None:
        found.append(star("**more", kwargs))
    return ", ".join(found)


@st.composite
def slots_of(draw: Any) -> tuple[Slot, ...]:
    kinds = sorted(draw(st.lists(st.sampled_from(KINDS), max_size=4)), key=KINDS.index)
    slots, defaulted = [], False
    for index, kind in enumerate(kinds):
        form = draw(st.sampled_from(FORMS))
        has = draw(st.booleans()) and bool(form.defaults)
        if kind != "keyword" and defaulted and not has:  # Python wants a default from here on
            form, has = FORMS[0], True
        default = draw(st.sampled_from(form.defaults)) if has else MISSING
        defaulted = defaulted or (kind != "keyword" and has)
        slots.append(Slot(f"{draw(st.sampled_from(WORDS))}{index}", form, kind, default))
    return tuple(slots)


CONTEXTS = ("", "tool_context", "ctx: ToolContext", "ctx: ToolContext | None = None")


def source_of(wrapping: str, is_async: bool, head: str, got: str, doc: str) -> str:
    """The definition of `work`, or of a class `Holder` that has it."""
    if wrapping == "lambda":
        return f"work = lambda {head}: {{{got}}}"
    first = {"method": "self", "object": "self", "class": "self", "classmethod": "cls"}.get(wrapping)
    name = {"object": "__call__", "class": "__init__"}.get(wrapping, "work")
    ends = f"self.got = {{{got}}}" if wrapping == "class" else f"return {{{got}}}"
    start = "async def" if is_async and wrapping != "class" else "def"
    source = f"{start} {name}({', '.join(filter(None, [first, head]))}):\n"
    source += textwrap.indent((f'"""{doc}"""\n' if doc else "") + ends, "    ")
    if wrapping in ("classmethod", "staticmethod"):
        source = f"@{wrapping}\n{source}"
    return "class Holder:\n" + textwrap.indent(source, "    ") if first or wrapping == "staticmethod" else source


@st.composite
def callables(draw: Any) -> Made:
    slots = draw(slots_of())
    starred = st.none() | st.sampled_from([f for f in FORMS if f.text not in ("None",)])
    args, kwargs = draw(starred), draw(starred)
    wrapping, is_async = draw(st.sampled_from(WRAPPINGS)), draw(st.booleans())
    bare = wrapping == "lambda"
    if bare:
        slots, is_async = tuple(Slot(s.name, FORMS[0], s.kind, s.default) for s in slots), False
        args, kwargs = args and FORMS[0], kwargs and FORMS[0]
    context = "" if bare else draw(st.sampled_from(CONTEXTS))
    doc = "" if bare else docstring(draw(st.sampled_from(STYLES)), slots)
    pairs = [f"{s.name!r}: {s.name}" for s in slots]
    pairs += ["'rest': list(rest)"] * (args is not None) + ["'more': more"] * (kwargs is not None)
    head = parameter_list(slots, args, kwargs, context, bare)
    source = source_of(wrapping, is_async, head, ", ".join(pairs), doc)
    if draw(st.booleans()):
        source = f"from __future__ import annotations\n{source}"
    names = {**NAMES, "ToolContext": ToolContext, "__name__": "made_here"}
    names |= {f"d_{slot.name}": slot.default for slot in slots if slot.default is not MISSING}
    exec(source, names)
    function, slots = wrapped(wrapping, names, slots)
    return Made(function, slots, args, kwargs, doc, f"{wrapping}:\n{source}")


def wrapped(wrapping: str, names: dict[str, Any], slots: tuple[Slot, ...]) -> tuple[Any, tuple[Slot, ...]]:
    if wrapping in ("method", "classmethod", "staticmethod"):
        return names["Holder"]().work, slots
    if wrapping in ("object", "class"):
        return names["Holder"]() if wrapping == "object" else names["Holder"], slots
    if wrapping == "partial" and slots and slots[-1].kind == "keyword":
        return functools.partial(names["work"], **{slots[-1].name: "bound"}), (
            *slots[:-1],
            Slot(slots[-1].name, slots[-1].form, "keyword", "bound"),
        )
    if wrapping == "partial" and slots:
        return functools.partial(names["work"], "bound"), slots[1:]
    if wrapping == "wrapped":

        @functools.wraps(names["work"])
        def outer(*args: Any, **kwargs: Any) -> Any:
            return names["work"](*args, **kwargs)

        return outer, slots
    return names["work"], slots


@st.composite
def cases(draw: Any) -> tuple[Made, dict[str, Any]]:
    """A callable, and arguments that a model could send it."""
    made = draw(callables())
    sent = {s.name: draw(s.form.json) for s in made.slots if s.default is MISSING or draw(st.booleans())}
    if made.args is not None and draw(st.booleans()):
        sent["rest"] = draw(st.lists(made.args.json, max_size=2))
    if made.kwargs is not None and draw(st.booleans()):
        sent |= {f"extra_{n}": draw(made.kwargs.json) for n in range(draw(st.integers(0, 2)))}
    return made, sent


@functools.cache
def context_in(distribution: str) -> Context:
    agent = LlmAgent(name="a", model=ScriptedModel([]))
    runner = Runner(app_name="t", agent=agent, session_service=InMemorySessionService(), distribution=distribution)
    return Context(runner.new_context(Session(id="s", app_name="t", user_id="u"), RunConfig(), None, None))


def declared(tool: FunctionTool) -> dict[str, Any]:
    """The declaration as it goes out; the rules of the service accept it."""
    declaration = tool._get_declaration().model_dump(mode="json", by_alias=True, exclude_none=True)
    assert json.loads(json.dumps(declaration, allow_nan=False, ensure_ascii=False).encode()) == declaration
    message = {"role": "user", "parts": [{"text": "hi"}]}
    assert refusal({"contents": [message], "tools": [{"functionDeclarations": [declaration]}]}) is None
    jsonschema.Draft202012Validator.check_schema(declaration.get("parametersJsonSchema", True))
    return declaration


def tool_of(made: Made, distribution: str) -> FunctionTool:
    tool = adapt_tool(context_in(distribution).get_invocation_context().composition, FunctionTool(made.function))
    assert isinstance(tool, FunctionTool)
    return tool


def received(tool: FunctionTool, distribution: str, sent: dict[str, Any]) -> Any:
    result = asyncio.run(tool.run_async(args=sent, tool_context=context_in(distribution)))
    return getattr(result, "got", result)


def plain(value: Any) -> Any:
    """A value that compares: what pydantic hands out lazily is a list."""
    return list(value) if type(value).__name__ == "ValidatorIterator" else value


def is_same(value: Any, expected: Any) -> bool:
    value, expected = plain(value), plain(expected)
    return value is expected or (type(value) is type(expected) and bool(value == expected))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_what_is_declared_reaches_the_function_in_standard(case: tuple[Made, dict[str, Any]]) -> None:
    made, sent = case
    tool = tool_of(made, "standard")
    declaration = declared(tool)
    schema = declaration.get("parametersJsonSchema", {"type": "object"})
    jsonschema.validate(sent, schema)
    result = received(tool, "standard", sent)
    assert "error" not in result, result
    for slot in made.slots:
        expected = slot.default if slot.name not in sent else slot.form.value(sent[slot.name])
        assert is_same(result[slot.name], expected), slot
    if made.args is not None:
        assert all(map(is_same, result["rest"], map(made.args.value, sent.get("rest", ()))))
    if made.kwargs is not None:
        extra = {n: made.kwargs.value(v) for n, v in sent.items() if n.startswith("extra_")}
        assert result["more"].keys() == extra.keys()
        assert all(is_same(result["more"][name], value) for name, value in extra.items())


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_the_words_and_the_names_are_the_functions_own(case: tuple[Made, dict[str, Any]]) -> None:
    made, _ = case
    for distribution in ("adk", "standard"):
        declaration = declared(tool_of(made, distribution))
        properties = declaration.get("parametersJsonSchema", {}).get("properties", {})
        starred = {"rest"} if made.args is not None and distribution == "standard" else set()
        assert properties.keys() <= {slot.name for slot in made.slots} | starred
        assert properties.keys() >= {slot.name for slot in made.slots if slot.default is MISSING}
        text = declaration.get("description", "")
        if distribution == "adk" or "thing" not in made.doc:
            assert text == inspect.cleandoc(made.doc)
            continue
        assert text.startswith("Do the work.\n\nIt takes a while.")
        assert "The thing" not in text
        assert ("Raises ValueError: Never." in text) is ("Raises:" in made.doc)
        for slot in made.slots:
            if slot.name in properties and "description=" not in slot.form.text:
                assert properties[slot.name]["description"] == f"The thing {slot.name}."


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_adk_passes_on_what_the_model_sent(case: tuple[Made, dict[str, Any]]) -> None:
    made, sent = case
    tool = tool_of(made, "adk")
    result = received(tool, "adk", sent)
    for slot in made.slots:
        if slot.name not in sent:
            assert is_same(result[slot.name], slot.default)
        elif "Item" not in slot.form.text and slot.form.text != "Tree":
            assert is_same(result[slot.name], sent[slot.name])
