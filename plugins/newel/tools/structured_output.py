"""Structured output: what a model wrote as data that fits a schema.

A value is validated where it comes in, from JSON; what goes on is the validated value, or the JSON itself.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import (
    BaseModel,
    NonNegativeInt,
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import to_json

from newel.contexts.model_data import has_models
from newel_kernel import INVALID_OUTPUT, Event, Key, NewelError, brief

T = TypeVar("T")

#: The plugin that the settings belong to.
PLUGIN = "output_schema"

# Blocks of reasoning at the start. Templates of some models write only the end of it, on a line of its own.
_REASONING = re.compile(
    r"^(?:\s*<(think|thinking|reasoning)>.*?</\1>)+|^.*?\n[ \t]*</(?:think|thinking|reasoning)>[ \t]*\n", re.S | re.I
)
_UNFINISHED_REASONING = re.compile(r"^\s*<(think|thinking|reasoning)>", re.I)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)\n?[ \t]*\1[ \t]*$", re.S | re.M)
_OPENING = re.compile(r"[{\[]")
_BRACKETS = {"{": "}", "[": "]"}


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of structured output."""

    #: How often a model is asked again for an answer that does not fit the output schema.
    retries: NonNegativeInt = 0
    #: Whether an answer is checked if no output_key takes it.
    check_always: bool = False
    #: Whether a turn that ends without text, such as one with skip_summarization, sets output_key to an empty text.
    save_empty: bool = True


class OutputSchemaError(NewelError, ValueError):
    """A model's answer does not fit its agent's output schema. `problems` says what does not."""

    def __init__(self, problems: str, text: str) -> None:
        self.problems = problems
        self.text = text
        super().__init__(f"{problems}; the answer is {brief(text)!r}")

    def of_agent(self, name: str, asked: int) -> OutputSchemaError:
        """The same error with the agent's name and how often its model was asked."""
        times = f" ({asked} answers)" if asked > 1 else ""
        self.args = (
            f"the answer of agent {name!r} does not fit its output_schema{times}: {self}. Say in the instruction what "
            f"is expected, or have the model asked again (settings: {PLUGIN}.retries)",
        )
        return self


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer that a tool took: the JSON that the model gave, and the valid value that it stands for."""

    given: object
    answer: Answer


@dataclass(frozen=True, slots=True)
class Answer:
    """A valid answer: the value itself, and the plain data by field name that the state gets."""

    value: object
    data: object


#: Call id -> the answer that the call gave, until its event is made.
GIVEN_ANSWERS: Key[dict[str | None, GivenAnswer]] = Key("answers that were given by calls", dict)
#: The answers that were validated, by the ids of the events that carry them.
VALID_ANSWERS: Key[dict[str, Answer]] = Key("valid answers", dict)
#: The answers that are in the state, by its keys.
STATE_ANSWERS: Key[dict[str, Answer]] = Key("answers in the state", dict)


def plain_answer(adapter: TypeAdapter[object] | None, parsed: object) -> object:
    """A validated answer as plain data, by field name: what the state gets."""
    return parsed if adapter is None else adapter.dump_python(parsed, mode="json", exclude_none=True)


def json_answer(adapter: TypeAdapter[object] | None, parsed: object) -> object:
    """A validated answer as JSON by alias: what others are told."""
    return parsed if adapter is None else adapter.dump_python(parsed, mode="json", by_alias=True, exclude_none=True)


def model_answer(adapter: TypeAdapter[object] | None, parsed: object) -> object:
    """A validated answer itself, if it is a pydantic model or models, else as plain data."""
    return parsed if has_models(parsed) else plain_answer(adapter, parsed)


def full_answer(adapter: TypeAdapter[object] | None, parsed: object) -> Answer:
    """A validated answer in both its forms."""
    return Answer(parsed, plain_answer(adapter, parsed))


def validated(schema: Any, text: str, form: Callable[[TypeAdapter[object] | None, object], T] = plain_answer) -> T:  # type: ignore[assignment]
    """`text`, which a model wrote, validated by `schema` (a pydantic class, a type, a schema dict), in a `form`.

    A byte-order mark, a block of reasoning, a code fence and sentences around the JSON are left out. Raises
    OutputSchemaError if nothing in it fits, or several values do.
    """
    answer = _without_reasoning(text)
    read = _reader(schema, form)
    try:
        return read(answer)
    except ValueError as error:
        problem = error
    values: list[T] = []
    for candidate in _candidates(answer):
        with suppress(ValueError):
            value = read(candidate)
            if value not in values:
                values.append(value)
    if len(values) == 1:
        return values[0]
    if len(values) > 1:
        raise OutputSchemaError(f"there are {len(values)} values that fit; write one", text)
    raise OutputSchemaError(problems_of(problem), text) from None


def validated_json(adapter: TypeAdapter[object], value: object) -> object:
    """`value`, parsed JSON such as a call's arguments, validated as the JSON would be."""
    return adapter.validate_json(to_json(value))


def problems_of(error: ValueError) -> str:
    """What is wrong, in one line, by field; the input is not repeated."""
    if not isinstance(error, ValidationError):
        return str(error)
    found = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, e['loc'])) or 'the answer'}: {e['msg']}" for e in found[:10]]
    return "; ".join(lines)


def _is_model(schema: object) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)


def _reader(schema: Any, form: Callable[[TypeAdapter[object] | None, object], T]) -> Callable[[str], T]:
    if isinstance(schema, dict) or (hasattr(schema, "model_dump") and not _is_model(schema)):
        fields = schema if isinstance(schema, dict) else {}
        return lambda text: form(None, _fits_dict(fields, json.loads(text)))
    adapter: TypeAdapter[object] = TypeAdapter(schema)

    def read(text: str) -> T:
        try:
            return form(adapter, adapter.validate_json(text))
        except ValidationError:
            if not _takes_text(adapter):
                raise
        return form(adapter, adapter.validate_json(to_json(text)))  # a plain text, not in quotes

    return read


def _takes_text(adapter: TypeAdapter[object]) -> bool:
    schema = adapter.json_schema()
    options = [schema, *schema.get("anyOf", ())]
    return any(isinstance(option, dict) and option.get("type") == "string" for option in options)


def _fits_dict(fields: dict[str, Any], value: object) -> object:
    """`value`; ValueError if it is not even of the type that a JSON schema names, or lacks what that requires."""
    kind = str(fields.get("type") or "").lower()
    kind = kind or ("object" if fields.get("properties") else "")
    if kind in ("object", "array") and not isinstance(value, dict if kind == "object" else list):
        raise ValueError(f"the answer must be a JSON {kind}")
    missing = [name for name in fields.get("required") or () if isinstance(value, dict) and name not in value]
    if missing:
        raise ValueError(f"the answer lacks {', '.join(map(str, missing))}")
    return value


def _without_reasoning(text: str) -> str:
    text = text.replace("\ufeff", "").strip("\u200b")
    if _starts_like_json(text):
        return text
    rest = _REASONING.sub("", text, count=1)
    if _UNFINISHED_REASONING.match(rest):
        return ""  # the answer itself was never begun
    return rest.strip() if rest != text else text


def _starts_like_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[", '"')


def _candidates(text: str) -> Iterator[str]:
    """The parts of a text that may be its answer: what is in code fences, and objects and arrays in it."""
    for fence in _FENCE.finditer(text):
        if not _starts_like_json(fence[2]):
            yield fence[2]
    decoder, at = json.JSONDecoder(), 0
    while (match := _OPENING.search(text, at)) is not None:
        start = match.start()
        try:
            at = decoder.raw_decode(text, start)[1]
        except RecursionError:
            return
        except ValueError:
            end = _end_of_group(text, start)
            if end is None:
                return  # cut off: what is within is not the answer
            at = end
        else:
            yield text[start:at]


def _end_of_group(text: str, start: int) -> int | None:
    """The index after the bracket that closes the one at `start`; None if the text ends before."""
    expected: list[str] = []
    quoted = escaped = False
    for index in range(start, len(text)):
        character = text[index]
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in _BRACKETS:
            expected.append(_BRACKETS[character])
        elif expected and character == expected[-1]:
            expected.pop()
            if not expected:
                return index + 1
    return None


def is_invalid(event: Event) -> bool:
    """Whether the event's answer does not fit, and another one was asked for."""
    return event.error_code == INVALID_OUTPUT


def schema_problem(schema: Any) -> str | None:
    """Why `schema` cannot validate anything, or None; a type that is not defined yet is not a problem."""
    if isinstance(schema, BaseModel) and not hasattr(schema, "any_of"):  # google-genai's Schema is a model, too
        return f"it is an object of {type(schema).__name__}; give the class itself, without a call"
    if schema is None or isinstance(schema, dict) or hasattr(schema, "model_dump"):
        return None
    wrong = isinstance(schema, str) or inspect.isroutine(schema)
    if not wrong:
        with suppress(PydanticUndefinedAnnotation):
            try:
                TypeAdapter(schema)
            except PydanticSchemaGenerationError:
                wrong = True
    hint = "a pydantic class, a dataclass, a plain type or a JSON schema can"
    return f"{schema!r} cannot be made from JSON; {hint}" if wrong else None
