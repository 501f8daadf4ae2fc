"""The steps of a script: each as the one form that ScriptedModel plays."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from newel_kernel import LlmRequest
from newel_kernel import LlmResponse
from newel_kernel import ConfigurationError, ModelError, did_you_mean
from newel_types import Content, FunctionCall, Part

MALFORMED = ("empty", "nameless_call", "arguments", "foreign")
KEYS = (
    "after", "args", "call", "calls", "chunks", "delay", "error", "expect", "hang", "id", "malformed", "message",
    "parts", "raise", "response", "text",
)  # fmt: skip
_CALL = ("call", "args", "id")
EXPECTED = ("contents", "system", "tools", "user")
#: A step has at most one of these; `raise`, `hang` and `malformed` may follow chunks.
_ANSWERS = ("text", "call", "calls", "parts", "chunks", "response", "error")
_ENDINGS = ("raise", "hang", "malformed")
#: Key -> what has to stand beside it.
_BESIDE = {"args": ("call",), "id": ("call",), "message": ("error",), "after": _ENDINGS}


class ScriptedFault(ModelError):
    """The failure that a step asked for, where it names no exception of its own."""


class StepError(ConfigurationError):
    """A step is wrong; `key` is what is wrong in it."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a request must look like for its step; None: anything."""

    user: str | None = None
    system: str | None = None
    #: Names of tools that must be declared.
    tools: tuple[str, ...] | None = None
    #: The number of contents.
    contents: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds to wait, chunks and a whole answer to give, and how it ends; `ask` makes the step of a request."""

    delay: float = 0.0
    #: Partial texts; sent one by one where the request streams, else joined.
    chunks: tuple[str, ...] = ()
    responses: tuple[Any, ...] = ()
    fault: BaseException | None = None
    hang: bool = False
    expect: Expectation | None = None
    ask: Callable[[LlmRequest], Any] | None = None

    @property
    def is_pause(self) -> bool:
        """Whether it only waits: the next step then answers the same request."""
        return not (self.chunks or self.responses or self.fault or self.hang or self.ask)


def as_step(given: Any) -> Step:
    """One step from a text, a response, parts, a call, chunks, an exception, a mapping, a delay or a callable."""
    if isinstance(given, Step):
        return given
    if isinstance(given, str):
        return Step(responses=(_said(Part(text=given)),))
    if isinstance(given, (LlmResponse, Content)):
        return Step(responses=(given if isinstance(given, LlmResponse) else LlmResponse(content=given),))
    if isinstance(given, BaseException) or (isinstance(given, type) and issubclass(given, BaseException)):
        return Step(fault=given() if isinstance(given, type) else given)
    if isinstance(given, Mapping):
        return _from_mapping(given)
    if isinstance(given, (Part, FunctionCall)):
        return Step(responses=(_said(_part(given)),))
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return Step(delay=_seconds(given))
    if isinstance(given, Sequence):
        return _from_list(given)
    if callable(given):
        return Step(ask=given)
    raise StepError(f"{given!r} is no step (a text, a response, a call, a list, an exception, a delay or a callable)")


def _from_list(items: Sequence[Any]) -> Step:
    """Texts and responses are chunks, sent as they are; parts and calls make one answer."""
    if not items:
        raise StepError("an empty list is no step")
    if all(isinstance(item, str) for item in items):
        return Step(chunks=tuple(items))
    if all(isinstance(item, LlmResponse) for item in items):
        return Step(responses=tuple(items))
    return Step(responses=(_said(*map(_part, items)),))


def _from_mapping(given: Mapping[str, Any]) -> Step:
    _check_keys(given)
    chunks = _texts(given["chunks"], "chunks") if "chunks" in given else ()
    responses = () if chunks else _responses(given)
    ending = next((key for key in _ENDINGS if given.get(key)), None)
    if "after" in given:
        chunks = _first(chunks, given["after"])
    if ending == "malformed":
        responses = (*responses, malformed(given["malformed"]))
    return Step(
        delay=_seconds(given.get("delay", 0)),
        chunks=chunks,
        responses=responses,
        fault=_fault(given["raise"]) if ending == "raise" else None,
        hang=ending == "hang",
        expect=_expectation(given["expect"]) if "expect" in given else None,
    )


def _check_keys(given: Mapping[str, Any]) -> None:
    for key in given:
        if key not in KEYS:
            known = f"(a step has: {', '.join(KEYS)})"
            raise StepError(f"unknown key {key!r}{did_you_mean(str(key), KEYS)} {known}", str(key))
    answers = [key for key in given if key in _ANSWERS]
    if len(answers) > 1:
        raise StepError(f"a step has one of {' and '.join(map(repr, answers))}, not both", answers[1])
    endings = [key for key in _ENDINGS if given.get(key)]
    if len(endings) > 1:
        raise StepError(f"a step ends with one of {' and '.join(map(repr, endings))}, not both", endings[1])
    if endings and answers not in ([], ["chunks"]):
        raise StepError(f"{endings[0]!r} goes with 'chunks' only, not with {answers[0]!r}", endings[0])
    for key, others in _BESIDE.items():
        if key in given and not any(other in given for other in others):
            raise StepError(f"{key!r} needs {' or '.join(map(repr, others))} beside it", key)
    if "after" in given and "chunks" not in given:
        raise StepError("'after' counts 'chunks', which the step does not have", "after")
    if not answers and not endings and not given.get("delay"):
        raise StepError(f"the step gives no answer (it needs one of: {', '.join((*_ANSWERS, *_ENDINGS))})")


def _responses(given: Mapping[str, Any]) -> tuple[Any, ...]:
    if "text" in given:
        return (_said(Part(text=_texts([given["text"]], "text")[0])),)
    if "call" in given:
        return (_said(_part({name: given.get(name) for name in _CALL})),)
    if "calls" in given:
        return (_said(*(_part(call) for call in _listed(given["calls"], "calls"))),)
    if "parts" in given:
        return (_said(*map(_part, _listed(given["parts"], "parts"))),)
    if "response" in given:
        return (_read(LlmResponse, given["response"], "response"),)
    if "error" in given:
        message = given.get("message")
        return (LlmResponse(error_code=str(given["error"]), error_message=str(message) if message else None),)
    return ()


def _part(given: Any) -> Part:
    """A part from a text, a call (``{call: name, args: {…}}``, or `name`), or a Part's own fields."""
    if isinstance(given, str):
        return Part(text=given)
    if isinstance(given, FunctionCall):
        return Part(function_call=given)
    if isinstance(given, Mapping) and ("call" in given or "name" in given):
        for key in given:
            if key not in (*_CALL, "name"):
                raise StepError(f"unknown key {key!r} in a call{did_you_mean(str(key), _CALL)}", str(key))
        args = given.get("args") or {}
        name = given.get("call") or given.get("name")
        if not isinstance(args, Mapping) or not isinstance(name, str):
            raise StepError("a call is a name with a mapping of arguments under 'args'", "call")
        return Part(function_call=FunctionCall(name=name, args=dict(args), id=given.get("id")))
    part: Part = _read(Part, given, "parts")
    return part


def _read(cls: Any, given: Any, key: str) -> Any:
    try:
        return cls.model_validate(given)
    except ValueError as error:
        raise StepError(f"{key!r} holds no {cls.__name__}: {str(error).splitlines()[0]}", key) from error


def _said(*parts: Part) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=list(parts)))


def malformed(how: Any) -> Any:
    """What a broken provider might yield: one of MALFORMED, or `foreign` where `how` is just true."""
    how = "foreign" if how is True else how
    if how == "empty":
        return LlmResponse()
    if how == "nameless_call":
        return _said(Part(function_call=FunctionCall(args={})))
    if how == "arguments":
        return _said(Part(function_call=FunctionCall(name="tool", args="{not an object")))  # type: ignore[arg-type]
    if how == "foreign":
        return "not a response"
    raise StepError(f"'malformed' is one of {', '.join(MALFORMED)}{did_you_mean(str(how), MALFORMED)}", "malformed")


def _fault(given: Any) -> BaseException:
    """An exception as it is, or from a text: ``TimeoutError: too slow`` names a built-in one."""
    if isinstance(given, BaseException):
        return given
    if isinstance(given, type) and issubclass(given, BaseException):
        return given()
    name, _, message = str(given).partition(":")
    named = getattr(builtins, name.strip(), None)
    if isinstance(named, type) and issubclass(named, Exception):
        return named(message.strip() or name)
    return ScriptedFault(str(given))


def _expectation(given: Any) -> Expectation:
    if isinstance(given, str):
        return Expectation(user=given)
    if not isinstance(given, Mapping):
        raise StepError("'expect' is a text or a mapping", "expect")
    for key in given:
        if key not in EXPECTED:
            raise StepError(f"unknown key {key!r} in 'expect'{did_you_mean(str(key), EXPECTED)}", str(key))
    tools = given.get("tools")
    contents = given.get("contents")
    if contents is not None and not isinstance(contents, int):
        raise StepError("'contents' is the number of contents", "contents")
    return Expectation(
        user=given.get("user"),
        system=given.get("system"),
        tools=_texts([tools] if isinstance(tools, str) else tools, "tools") if tools is not None else None,
        contents=contents,
    )


def _listed(given: Any, key: str) -> Sequence[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise StepError(f"{key!r} is a list", key)
    return given


def _texts(given: Any, key: str) -> tuple[str, ...]:
    items = _listed(given, key)
    if wrong := [item for item in items if not isinstance(item, str)]:
        raise StepError(f"{key!r} holds texts, not {wrong[0]!r}", key)
    return tuple(items)


def _first(chunks: tuple[str, ...], count: Any) -> tuple[str, ...]:
    if not isinstance(count, int) or not 0 <= count <= len(chunks):
        raise StepError(f"'after' is a number of chunks, from 0 to {len(chunks)}", "after")
    return chunks[:count]


def _seconds(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or given < 0:
        raise StepError(f"'delay' is a number of seconds, not {given!r}", "delay")
    return float(given)
