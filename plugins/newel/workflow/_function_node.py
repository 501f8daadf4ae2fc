"""FunctionNode: a Python function as a node."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from typing import TYPE_CHECKING, Unpack, cast

from pydantic import BaseModel, PrivateAttr

from newel.contexts.generics import OfFunction, P, R
from newel.contexts.model_data import carried
from newel.events.request_input import RequestInput
from newel.workflow._base_node import BaseNode, NodeFields
from newel.workflow._retry_config import RetryConfig
from newel.workflow.binding import Binding, Source
from newel.workflow.context import Run
from newel_kernel import Event, Json
from newel_types import ATOMS, Content, deferred, late

if TYPE_CHECKING:
    from newel_types import AuthConfig
else:
    AuthConfig = late("auth:AuthConfig")

#: Few nodes need a credential.
_missing_credential = deferred("newel.workflow.node_auth", "missing_credential")


class FunctionNodeFields(NodeFields, total=False):
    """The further fields of a node of a function."""

    parameter_binding: Source
    auth_config: AuthConfig | None


class FunctionNode(OfFunction[P, R], BaseNode):
    """Runs `func`: a function, a coroutine function, or a generator function of either kind.

    A parameter named `node_input` gets the input, one annotated with the Context (or named `ctx`) the context; the
    others get the state's values of their names, or with ``parameter_binding='node_input'`` the input's fields.
    Values are coerced to the annotations. What the function returns (or each value that it yields) becomes an
    event: see `BaseNode`; a Content becomes a message.
    """

    #: The function that it runs.
    func: Callable[..., object]
    #: The source of the parameters' values: the session's state, or the fields of the input.
    parameter_binding: Source = "state"
    #: The credential that a run needs: it asks the user for it first, and `ctx.get_auth_response(config)` gives it.
    auth_config: AuthConfig | None = None

    _binding: Binding = PrivateAttr()
    _in_place: bool = PrivateAttr()
    _generates: bool = PrivateAttr()

    def __init__(
        self,
        func: Callable[P, R] | None = None,
        *,
        fn: Callable[P, R] | None = None,
        name: str | None = None,
        retry_config: RetryConfig | None = None,
        **options: Unpack[FunctionNodeFields],
    ) -> None:
        function, fields = func or fn, cast("Json", options)
        if not callable(function):
            raise ValueError(f"FunctionNode needs a callable as func, not {function!r}")
        name = name or getattr(function, "__name__", None)
        if not name:
            raise ValueError(f"FunctionNode needs a name: {function!r} has no __name__ of its own; pass name=...")
        fields.setdefault("description", inspect.getdoc(function) if hasattr(function, "__name__") else "")
        fields["description"] = fields["description"] or ""
        if fields.get("auth_config") is not None and not fields.setdefault("rerun_on_resume", True):
            raise ValueError(
                f"node {name!r} has an auth_config, so it runs again with the answer: rerun_on_resume=True"
            )
        super().__init__(name=name, retry_config=retry_config, **fields, **{"func": function})

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, outside a graph."""
        return cast("R", self.func(*args, **kwargs))

    def model_post_init(self, context: object, /) -> None:
        """Read the signature."""
        super().model_post_init(context)
        self._binding = Binding(self.func, self.name, self.parameter_binding)
        call = self.func if inspect.isroutine(self.func) else getattr(self.func, "__call__", self.func)  # noqa: B004
        call = getattr(self.func, "func", call)
        self._generates = inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call)
        waits = inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)
        self._in_place = not waits and not self._generates and self.auth_config is None
        hints: Json = self._binding.hints
        if self.input_schema is None and _is_model(hints.get("node_input")):
            self.input_schema = hints["node_input"]
        if self.output_schema is None and not self._generates and _is_model(hints.get("return")):
            self.output_schema = hints["return"]

    @property
    def binding(self) -> Binding:
        """The function's parameters."""
        return self._binding

    @property
    def in_place(self) -> bool:
        """Whether calling it is all there is to a run."""
        return self._in_place

    @property
    def awaitable(self) -> bool:
        """Whether calling it gives a coroutine, and awaiting that (without a timeout) is all there is to a run."""
        return not (self._in_place or self._generates) and self.timeout is None and self.auth_config is None

    @property
    def __newel_starts_nodes__(self) -> bool:
        """Whether its code may run other nodes while it waits."""
        return self._binding.takes_context and not self._in_place

    def event_of(self, run: Run, result: object) -> Event | None:
        """The event of what the function returned or yielded, or None."""
        if result.__class__ in ATOMS:
            return run.take(result)
        if isinstance(result, Content):
            return run.stamp(Event(content=result))
        if isinstance(result, (Event, RequestInput)):
            return run.take(result)
        return run.take(carried(result))

    async def __newel_events__(self, run: Run) -> AsyncGenerator[Event, None]:
        if (
            self.auth_config is not None
            and (question := await _missing_credential()(run, self.auth_config)) is not None
        ):
            yield run.stamp(question)
            return
        result = self._binding.call(run)
        if self._generates and isinstance(result, (AsyncGenerator, Generator)):
            async for event in self._yielded(run, result):
                yield event
            return
        if result.__class__ not in ATOMS and inspect.isawaitable(result):
            result = await result
        last = self.event_of(run, result) or run.writes_event()
        if last is not None:
            yield last

    async def _yielded(
        self, run: Run, items: AsyncGenerator[object, None] | Generator[object, None, None]
    ) -> AsyncGenerator[Event, None]:
        if isinstance(items, AsyncGenerator):
            async with aclosing(items) as values:
                async for value in values:
                    if (event := self.event_of(run, value)) is not None:
                        yield event
            return
        try:
            for value in items:
                if (event := self.event_of(run, value)) is not None:
                    yield event
        finally:
            items.close()


def _is_model(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)
