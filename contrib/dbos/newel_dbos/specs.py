"""Specs as the tables have them, also those that this version of newel cannot read."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from newel.engines import InvocationSpec
from newel_kernel import NewelError, brief


class UnreadableSpecError(NewelError):
    """A stored spec that this version of newel cannot read: the text names the fields, and quotes no value."""


def spec_of(row: Any) -> InvocationSpec:
    """The spec of a row; raises UnreadableSpecError."""
    try:
        return InvocationSpec.model_validate_json(row.spec)
    except ValidationError as error:
        places = (".".join(map(str, one["loc"])) for one in error.errors(include_url=False, include_input=False))
        fields = ", ".join(sorted({brief(place) or "no JSON" for place in places}))
    except (NewelError, ValueError, RecursionError) as error:
        fields = type(error).__name__
    raise UnreadableSpecError(f"this version of newel cannot read its spec ({fields}): use the one that submitted it")


def known_of(row: Any) -> InvocationSpec:
    """The spec of a row; if it cannot be read, what the row says without it, and nobody's session."""
    try:
        return spec_of(row)
    except UnreadableSpecError:
        id_ = row.key.removeprefix(f"{row.app_name}:")
        return InvocationSpec.model_construct(app_name=row.app_name, invocation_id=id_, user_id="", session_id="")
