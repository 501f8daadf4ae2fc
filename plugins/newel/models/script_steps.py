"""The steps of a script, each in the one form that ScriptedModel plays."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from newel_kernel import ConfigurationError, LlmRequest, LlmResponse, ModelError, did_you_mean
from newel_types import Content, FunctionCall, Part

MALFORMED = ("empty", "nameless_call", "arguments", "foreign")
KEYS = (
    "after",
    "args",
    "call",
    "calls",
    "chunks",
    "delay",
    "error",
    "expect",
    "hang",
    "id",
    "malformed",
    "message",
    "parts",
    "raise",
    "response",
    "text",
)
_CALL = ("call", "args", "id")
EXPECTED = ("contents", "system", "tools", "user")
#: A step has at most one of these; `raise`, `hang` and `malformed` may follow chunks.
_ANSWERS = ("text", "call", "calls", "parts", "chunks", "response", "error")
_ENDINGS = ("raise", "hang", "malformed")
#: Key -> the keys, one of which must come with it.
_BESIDE = {"args": ("call",), "id": ("call",), "message": ("error",), "after": _ENDINGS}


class ScriptedFault(ModelError):
    """The failure that a step asked for, if it names no exception of its own."""


class StepError(ConfigurationError):
    """A step is wrong; `key` is the wrong key in it."""

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
    """Seconds to wait, chunks and a whole answer to give, and how it ends; `ask` makes the step from a request."""

    delay: float = 0.0
    #: Partial texts; sent one by one if the request streams, otherwise joined.
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


def as_step(spec: Any) -> Step:
    """One step from a text, a response, parts, a call, chunks, an exception, a mapping, a delay or a callable."""
    if isinstance(spec, Step):
        return spec
    if isinstance(spec, str):
        return Step(responses=(_response(Part(text=spec)),))
    if isinstance(spec, (LlmResponse, Content)):
        return Step(responses=(spec if isinstance(spec, LlmResponse) else LlmResponse(content=spec),))
    if isinstance(spec, BaseException) or (isinstance(spec, type) and issubclass(spec, BaseException)):
        return Step(fault=spec() if isinstance(spec, type) else spec)
    if isinstance(spec, Mapping):
        return _from_mapping(spec)
    if isinstance(spec, (Part, FunctionCall)):
        return Step(responses=(_response(_part(spec)),))
    if isinstance(spec, (int, float)) and not isinstance(spec, bool):
        return Step(delay=_seconds(spec))
    if isinstance(spec, Sequence):
        return _from_list(spec)
    if callable(spec):
        return Step(ask=spec)
    raise StepError(f"{spec!r} is not a step (a text, a response, a call, a list, an exception, a delay or a callable)")


def _from_list(items: Sequence[Any]) -> Step:
    """Texts and responses are chunks, sent unchanged; parts and calls make one answer."""
    if not items:
        raise StepError("an empty list is not a step")
    if all(isinstance(item, str) for item in items):
        return Step(chunks=tuple(items))
    if all(isinstance(item, LlmResponse) for item in items):
        return Step(responses=tuple(items))
    return Step(responses=(_response(*map(_part, items)),))


def _from_mapping(spec: Mapping[str, Any]) -> Step:
    _check_keys(spec)
    chunks = _texts(spec["chunks"], "chunks") if "chunks" in spec else ()
    responses = () if chunks else _responses(spec)
    end = next((key for key in _ENDINGS if spec.get(key)), None)
    if "after" in spec:
        chunks = _first(chunks, spec["after"])
    if end == "malformed":
        responses = (*responses, malformed(spec["malformed"]))
    return Step(
        delay=_seconds(spec.get("delay", 0)),
        chunks=chunks,
        responses=responses,
        fault=_fault(spec["raise"]) if end == "raise" else None,
        hang=end == "hang",
        expect=_expectation(spec["expect"]) if "expect" in spec else None,
    )


def _check_keys(spec: Mapping[str, Any]) -> None:
    for key in spec:
        if key not in KEYS:
            hint = f"(a step has: {', '.join(KEYS)})"
            raise StepError(f"unknown key {key!r}{did_you_mean(str(key), KEYS)} {hint}", str(key))
    answers = [key for key in spec if key in _ANSWERS]
    if len(answers) > 1:
        raise StepError(f"a step has one of {' and '.join(map(repr, answers))}, not both", answers[1])
    endings = [key for key in _ENDINGS if spec.get(key)]
    if len(endings) > 1:
        raise StepError(f"a step ends with one of {' and '.join(map(repr, endings))}, not both", endings[1])
    if endings and answers not in ([], ["chunks"]):
        raise StepError(f"{endings[0]!r} goes with 'chunks' only, not with {answers[0]!r}", endings[0])
    for key, others in _BESIDE.items():
        if key in spec and not any(other in spec for other in others):
            raise StepError(f"{key!r} needs {' or '.join(map(repr, others))} with it", key)
    if "after" in spec and "chunks" not in spec:
        raise StepError("'after' counts 'chunks', which the step does not have", "after")
    if not answers and not endings and not spec.get("delay"):
        raise StepError(f"the step gives no answer (it needs one of: {', '.join((*_ANSWERS, *_ENDINGS))})")


def _responses(spec: Mapping[str, Any]) -> tuple[Any, ...]:
    if "text" in spec:
        return (_response(Part(text=_texts([spec["text"]], "text")[0])),)
    if "call" in spec:
        return (_response(_part({name: spec.get(name) for name in _CALL})),)
    if "calls" in spec:
        return (_response(*(_part(call) for call in _listed(spec["calls"], "calls"))),)
    if "parts" in spec:
        return (_response(*map(_part, _listed(spec["parts"], "parts"))),)
    if "response" in spec:
        return (_validated(LlmResponse, spec["response"], "response"),)
    if "error" in spec:
        message = spec.get("message")
        return (LlmResponse(error_code=str(spec["error"]), error_message=str(message) if message else None),)
    return ()


def _part(spec: Any) -> Part:
    """A part from a text, a call (``{call: name, args: {…}}``, or `name`), or a Part's own fields."""
    if isinstance(spec, str):
        return Part(text=spec)
    if isinstance(spec, FunctionCall):
        return Part(function_call=spec)
    if isinstance(spec, Mapping) and ("call" in spec or "name" in spec):
        for key in spec:
            if key not in (*_CALL, "name"):
                raise StepError(f"unknown key {key!r} in a call{did_you_mean(str(key), _CALL)}", str(key))
        args = spec.get("args") or {}
        name = spec.get("call") or spec.get("name")
        if not isinstance(args, Mapping) or not isinstance(name, str):
            raise StepError("a call is a name with a mapping of arguments under 'args'", "call")
        return Part(function_call=FunctionCall(name=name, args=dict(args), id=spec.get("id")))
    part: Part = _validated(Part, spec, "parts")
    return part


def _validated(cls: Any, value: Any, key: str) -> Any:
    try:
        return cls.model_validate(value)
    except ValueError as error:
        raise StepError(f"{key!r} does not hold a valid {cls.__name__}: {str(error).splitlines()[0]}", key) from error


def _response(*parts: Part) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=list(parts)))


def malformed(how: Any) -> Any:
    """A value that a broken provider might yield: one of MALFORMED, or `foreign` if `how` is just true."""
    how = "foreign" if how is True else how
    if how == "empty":
        return LlmResponse()
    if how == "nameless_call":
        return _response(Part(function_call=FunctionCall(args={})))
    if how == "arguments":
        return _response(Part(function_call=FunctionCall(name="tool", args="{not an object")))  # type: ignore[arg-type]
    if how == "foreign":
        return "not a response"
    raise StepError(f"'malformed' is one of {', '.join(MALFORMED)}{did_you_mean(str(how), MALFORMED)}", "malformed")


def _fault(spec: Any) -> BaseException:
    """An exception itself, or one made from a text: ``TimeoutError: too slow`` names a built-in one."""
    if isinstance(spec, BaseException):
        return spec
    if isinstance(spec, type) and issubclass(spec, BaseException):
        return spec()
    name, _, message = str(spec).partition(":")
    kind = getattr(builtins, name.strip(), None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        return kind(message.strip() or name)
    return ScriptedFault(str(spec))


def _expectation(spec: Any) -> Expectation:
    if isinstance(spec, str):
        return Expectation(user=spec)
    if not isinstance(spec, Mapping):
        raise StepError("'expect' is a text or a mapping", "expect")
    for key in spec:
        if key not in EXPECTED:
            raise StepError(f"unknown key {key!r} in 'expect'{did_you_mean(str(key), EXPECTED)}", str(key))
    tools = spec.get("tools")
    contents = spec.get("contents")
    if contents is not None and not isinstance(contents, int):
        raise StepError("'contents' is the number of contents", "contents")
    return Expectation(
        user=spec.get("user"),
        system=spec.get("system"),
        tools=_texts([tools] if isinstance(tools, str) else tools, "tools") if tools is not None else None,
        contents=contents,
    )


def _listed(value: Any, key: str) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise StepError(f"{key!r} is a list", key)
    return value


def _texts(value: Any, key: str) -> tuple[str, ...]:
    items = _listed(value, key)
    if wrong := [item for item in items if not isinstance(item, str)]:
        raise StepError(f"{key!r} holds texts, not {wrong[0]!r}", key)
    return tuple(items)


def _first(chunks: tuple[str, ...], count: Any) -> tuple[str, ...]:
    if not isinstance(count, int) or not 0 <= count <= len(chunks):
        raise StepError(f"'after' is a number of chunks, from 0 to {len(chunks)}", "after")
    return chunks[:count]


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise StepError(f"'delay' is a number of seconds, not {value!r}", "delay")
    return float(value)
