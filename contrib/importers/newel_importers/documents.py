"""Documents: the data of YAML, JSON and JSONL files, and cases made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import yaml

from newel.evaluation import EvalCase, Invocation
from newel_kernel import ConfigurationError
from newel_types import Content, Part

_NO_ID = re.compile(r"[^\w.-]+")


def data_of(name: str, text: str) -> Any:
    """The data of a YAML or JSON file; raises ConfigurationError with the line if it is neither."""
    try:
        return _parsed(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(f"{name}:{line}: {error.problem or 'not valid YAML'}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigurationError(f"{name}:1: neither YAML nor JSON: {type(error).__name__}") from None


@lru_cache(maxsize=4)
def _parsed(text: str) -> Any:
    """Parse a file once, though each reader looks at it."""
    return json.loads(text) if text.lstrip().startswith(("{", "[")) and _is_json(text) else yaml.safe_load(text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def is_document(name: str) -> bool:
    """Whether a file of that name holds YAML or JSON."""
    return name.lower().endswith((".yaml", ".yml", ".json"))


def peek(name: str, text: str) -> Any:
    """The data of a file; None if it cannot be parsed: another reader may know the format."""
    try:
        return data_of(name, text)
    except ConfigurationError:
        return None


def lines_of(name: str, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a JSONL file with their line numbers; a ConfigurationError names a line that is not an object."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except ValueError as error:
            raise ConfigurationError(f"{name}:{number}: not JSON: {error}") from None
        if not isinstance(data, dict):
            raise ConfigurationError(f"{name}:{number}: a sample is an object, not {type(data).__name__}")
        yield number, data


def text_of(value: Any) -> str:
    """A text unchanged, other data as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def turn(message: str, answer: Any = None) -> Invocation:
    """A message of the user, with the expected answer."""
    final = None if answer is None else Content(role="model", parts=[Part(text=text_of(answer))])
    return Invocation(user_content=Content(role="user", parts=[Part(text=message)]), final_response=final)


class Ids:
    """Gives each case of a file a unique id."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, description: object, number: int) -> str:
        """`description` as an id; `case_<number>` if it is empty."""
        base = _NO_ID.sub("_", str(description)).strip("_")[:80] if description else ""
        base = base or f"case_{number}"
        name, count = base, 1
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name


def case(
    eval_id: str, turns: list[Invocation], criteria: dict[str, Any], missing: list[str], source: dict[str, Any]
) -> EvalCase:
    """A case; it is skipped if `missing` names features without a counterpart in newel."""
    skip = f"newel has no counterpart for {', '.join(dict.fromkeys(missing))}" if missing else False
    return EvalCase(eval_id=eval_id, conversation=turns, criteria=criteria, skip=skip, source=source)
