"""Binding: the source of each parameter of a node's function. The signature is read once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

from pydantic import ValidationError

from newel.contexts.model_data import carried
from newel.tools.annotations import CONTEXT_NAMES, hints_of, is_context, note_locals
from newel.tools.structured_output import STATE_ANSWERS
from newel.workflow.coercion import fit, fit_stored
from newel.workflow.context import Run
from newel_kernel import ReadonlyContext
from newel_types import Content

INPUT_NAME = "node_input"
Source = Literal["state", "node_input"]
_MISSING = object()


class Binding:
    """The parameters of `function`: the context, `node_input`, and names that `source` has values for."""

    __slots__ = ("_function", "_name", "_parameters", "_source", "hints", "input_only", "takes_context")

    def __init__(self, function: Callable[..., object], name: str, source: Source) -> None:
        self._function = function
        self._name = name
        self._source = source
        signature = inspect.signature(function)
        note_locals(function)
        self.hints = _hints(function, signature)
        kinds = inspect.Parameter
        self._parameters = [
            (parameter.name, self._hint(parameter.name), parameter.default, parameter.kind is kinds.KEYWORD_ONLY)
            for parameter in signature.parameters.values()
            if parameter.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        ]
        self.takes_context = any(hint is ReadonlyContext for _, hint, _, _ in self._parameters)
        #: The usual function, of one parameter that takes the input unchanged.
        self.input_only = (
            source == "state"
            and len(self._parameters) == 1
            and self._parameters[0][0] == INPUT_NAME
            and self._parameters[0][1] is None
        )

    def _hint(self, name: str) -> object:
        """What the parameter takes: ReadonlyContext for the context, None for anything."""
        hint = self.hints.get(name)
        if is_context(hint):
            return ReadonlyContext
        if hint is None or hint is Any:
            return ReadonlyContext if name in CONTEXT_NAMES else None
        return hint

    @property
    def names(self) -> list[str]:
        """The parameters that the state (or the fields of the input) may have."""
        return [name for name, hint, _, _ in self._parameters if name != INPUT_NAME and hint is not ReadonlyContext]

    def call(self, run: Run) -> object:
        """Call the function for `run`; ValueError if a value is missing, ValidationError if one does not fit."""
        if self.input_only:
            return self._function(run.input)
        arguments: list[object] = []
        keywords: dict[str, object] = {}
        for name, hint, default, by_keyword in self._parameters:
            if hint is ReadonlyContext:
                value: object = run.context
            elif name == INPUT_NAME and self._source == "state":
                value = fit(run.input, hint)
            else:
                value = self._bound(run, name, hint, default)
            if by_keyword:
                keywords[name] = value
            else:
                arguments.append(value)
        return self._function(*arguments, **keywords)

    def _bound(self, run: Run, name: str, hint: object, default: object) -> object:
        values: Mapping[str, object] = run.tree.invocation.session.state
        if self._source == "node_input":
            fields = fit(run.input, dict) if isinstance(run.input, Content) else run.input
            values = fields if isinstance(fields, Mapping) else {}
        value = values.get(name, _MISSING)
        if value is not _MISSING:
            return self._stored(run, name, value, hint) if self._source == "state" else fit(value, hint)
        if default is inspect.Parameter.empty:
            where = "the state" if self._source == "state" else "node_input"
            raise ValueError(
                f"no value for parameter {name!r} of function {self._name!r}: {where} has none, and it has no default"
            )
        return default

    def _stored(self, run: Run, name: str, value: object, hint: object) -> object:
        """A value of the state; one that an agent answered in this invocation was validated then."""
        answer = run.tree.invocation.stash[STATE_ANSWERS].get(name)
        if answer is not None and answer.data == value and hint is not None:
            with suppress(ValidationError):
                return fit(carried(answer.value), hint)
        return fit_stored(value, hint)


def _hints(function: Callable[..., object], signature: inspect.Signature) -> dict[str, object]:
    return {name: hint for name, hint in hints_of(function, signature, False).items() if hint is not Any}
