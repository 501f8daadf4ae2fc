"""Field errors: pydantic's ValidationError on one line: whose field it is, what it must be, and what it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from newel_types.model_plugins import read_model_plugins
from newel_types.places import caller_place
from newel_types.secret_names import names_secret

read_model_plugins()

#: A longer value is not shown: it would not help, and it may hold a secret.
_SHOWN = 24
#: Keys and passwords: letters and digits mixed, without a space.
_LIKE_A_KEY = re.compile(r"(?=.*[A-Za-z])(?=.*\d)\S{12,}")


class FieldError(ValidationError):
    """The fields of one object that do not fit, on one line, with the user's line that makes the object."""

    place = ""

    @classmethod
    def of(cls, error: ValidationError, title: str, name: object = None) -> Self:
        """`error` as one of this class, about an object of the kind `title`, called `name` if it has a name."""
        owner = f"{title} {name!r}" if isinstance(name, str) else title
        return cls.from_exception_data(owner, list(map(_again, error.errors(include_url=False))))

    def __str__(self) -> str:
        problems = "; ".join(_described(self.errors(include_url=False)))
        return f"{self.title}: {problems}{self.place}"

    __repr__ = __str__


def _again(problem: ErrorDetails) -> InitErrorDetails:
    # The text is a template: the placeholder takes whatever it is.
    kind = PydanticCustomError(problem["type"], "{text}", {"text": problem["msg"], **problem.get("ctx", {})})
    return InitErrorDetails(type=kind, loc=problem["loc"], input=problem["input"])


def _described(problems: Iterable[ErrorDetails]) -> Iterator[str]:
    """What is wrong, one text for each value: a value may fit neither of the types that its field may have."""
    by_value: dict[tuple[object, int], list[ErrorDetails]] = {}
    for problem in problems:
        by_value.setdefault((problem["loc"][:1], id(problem["input"])), []).append(problem)
    for group in by_value.values():
        steps = zip(*(one["loc"] for one in group), strict=False)
        place = ".".join(str(some[0]) for some in takewhile(lambda some: len(set(some)) == 1, steps))
        texts = [_text(one) for one in group]
        text = " or ".join([texts[0], *(one.removeprefix("must be ") for one in texts[1:] if one != texts[0])])
        if text.startswith("must "):
            is_secret = any(names_secret(str(step)) for one in group for step in one["loc"])
            value = group[0]["input"]
            text += f", not {_shown(value, is_secret and value is not None)}"
        yield text if _names_itself(group[0]) or not place else f"{place}{':' * (text[:5] != 'must ')} {text}"


def _names_itself(problem: ErrorDetails) -> bool:
    return problem["type"] == "extra_forbidden" and problem["msg"].startswith("there is no field")


def _text(problem: ErrorDetails) -> str:
    if problem["type"] == "missing":
        return "must be given"
    if problem["type"] == "extra_forbidden" and not _names_itself(problem):
        return "there is no such field"
    text = " ".join(problem["msg"].removeprefix("Value error, ").split())
    if not text.startswith("Input should "):
        return text
    wanted = text.removeprefix("Input should ").partition(", unable to ")[0]
    return f"must {wanted.replace('a valid integer', 'an integer').replace('a valid ', 'a ')}"


def _shown(value: object, is_secret: bool) -> str:
    kind = type(value).__name__
    text = repr(value) if value is None or isinstance(value, str | int | float) else ""
    if is_secret or not 0 < len(text) <= _SHOWN or not text.isprintable() or _LIKE_A_KEY.match(text[1:-1]):
        return f"a value of the type {kind}"
    return f"{text} ({kind})"


class OneLineErrors(BaseModel):
    """A base of pydantic models whose constructor raises a FieldError."""

    if TYPE_CHECKING:  # the fields stay what type checkers see, and editors show this text instead of pydantic's

        def __init__(self, **fields: Any) -> None:
            """Takes the fields of the class; those that do not fit raise a FieldError, on one line."""

    else:

        def __init__(self, /, **fields: Any) -> None:
            try:
                BaseModel.__init__(self, **fields)
            except ValidationError as error:
                found = FieldError.of(error, type(self).__name__, fields.get("name"))
                found.place = caller_place()
                raise found from None

        __init__.__pydantic_base_init__ = True  # validation does not call it
