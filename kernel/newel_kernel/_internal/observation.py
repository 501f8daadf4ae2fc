"""Observation: the one seam through which operations tell plugins that they begin and end.

An *operation* is an invocation, an agent's run, a model call, a tool call, the merging of parallel results, or
anything else that reports itself as one. Plugins subscribe with `register_observers`. Without a subscriber
`current_operation` stays None, and an instrumented place checks nothing else. Such a place is two lines, for a
generator or for a coroutine function:

    if (parent := current_operation.get()) is not None:
        events = parent.child("node", node.name, ctx, subject=node, input=node_input).stream(events)

    if (parent := current_operation.get()) is not None:
        return await parent.child("tool", name, ctx, tool, call).call(execute, ctx, call)

`current_operation` is set while a step of an operation runs, from one await to its end in the same task, and never
while a generator is suspended: the code that iterates keeps its own context, and each value is reset in the
task that set it. An operation that begins outside its parent's steps is given its parent explicitly.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from newel_kernel._internal import seam
from newel_kernel._internal.kinds import Stage

T = TypeVar("T")
_log = logging.getLogger(__name__)


class _Session(Protocol):
    @property
    def id(self) -> str: ...


class Invocation(Protocol):
    """What an operation needs of an InvocationContext."""

    @property
    def session(self) -> _Session: ...
    @property
    def invocation_id(self) -> str: ...


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """Something that begins and ends. It holds its subject and input by reference: read them, do not change them."""

    #: ``invocation``, ``agent``, ``model``, ``tool``, ``merge``, ``node``, or a plugin's own name.
    kind: str
    name: str
    session_id: str
    #: For an invocation None, unless it is resumed: its operation begins before it has an id.
    invocation_id: str | None
    #: What runs: the runner, agent, model or tool (None: an unknown one).
    subject: Any = field(default=None, repr=False)
    #: What it works on: the user's message, the LlmRequest, the FunctionCall or the events.
    input: Any = field(default=None, repr=False)
    parent: Operation | None = field(default_factory=lambda: current_operation.get(), repr=False)
    observers: tuple[Observer, ...] = field(default=(), repr=False)
    id: str = field(default_factory=lambda: seam.new_id())
    #: What the subject says of itself while it runs, beyond its outcome; complete at the end. Of a stream,
    #: ``seconds_to_first`` is how long its first item took.
    facts: dict[str, Any] = field(default_factory=dict, repr=False)

    def child(self, kind: str, name: str, ctx: Invocation, subject: object = None, input: object = None) -> Operation:
        """An operation within this one."""
        return Operation(kind, name, ctx.session.id, ctx.invocation_id, subject, input, self, self.observers)

    async def stream(
        self, items: AsyncGenerator[T, None], is_last: Callable[[T], bool] | None = None
    ) -> AsyncGenerator[T, None]:
        """`items`; the operation begins with the first step, and ends with the last or when the stream is closed.

        With `is_last` it ends at the first item for which this is true, before that item is yielded.
        """
        began = seam.monotonic()
        with ExitStack() as lasting:
            outcome = lasting.enter_context(self.running())
            try:
                while True:
                    with self._within():
                        try:
                            outcome[:] = [await anext(items)]
                        except StopAsyncIteration:
                            return
                    if "seconds_to_first" not in self.facts:
                        self.facts["seconds_to_first"] = seam.monotonic() - began
                    if is_last is not None and is_last(outcome[0]):
                        lasting.close()
                    yield outcome[0]
            except BaseException:  # left before its end
                with self._within():
                    await items.aclose()
                raise

    async def call(self, function: Callable[..., Awaitable[T]], *args: object) -> T:
        """The result of `function`; the operation lasts as long as the call."""
        with self.running() as outcome, self._within():
            outcome.append(await function(*args))
            return outcome[0]  # type: ignore[no-any-return]

    @contextmanager
    def running(self) -> Iterator[list[Any]]:
        """The operation around a block, which appends its result to the list."""
        outcome: list[Any] = []
        error: BaseException | None = None
        began = seam.monotonic()
        self._notify(Signal("start", self))
        try:
            yield outcome
        except BaseException as raised:
            error = None if isinstance(raised, GeneratorExit) else raised  # the caller stopped iterating
            raise
        finally:
            phase: Literal["stop", "exception"] = "stop" if error is None else "exception"
            self._notify(Signal(phase, self, seam.monotonic() - began, error, outcome[-1] if outcome else None))
            del error  # its traceback holds this frame

    @contextmanager
    def _within(self) -> Iterator[None]:
        token = current_operation.set(self)
        try:
            with ExitStack() as scopes:
                for observer in self.observers:
                    if observer.within is not None:
                        scopes.enter_context(observer.within(self))
                yield
        finally:
            current_operation.reset(token)

    def _notify(self, signal: Signal) -> None:
        for observer in self.observers:
            try:
                observer.notify(signal)
            except Exception:  # noqa: BLE001 - a plugin boundary: an observer must not stop what it observes
                _log.exception("the observer %r failed at the %s of %r", observer.name, signal.phase, self)


@dataclass(frozen=True, slots=True)
class Signal:
    """The beginning or the end of an operation: one start, then one stop or exception."""

    phase: Literal["start", "stop", "exception"]
    operation: Operation
    #: How long it took, by a monotonic clock; 0 at the start.
    seconds: float = 0.0
    error: BaseException | None = None
    #: The result; of a stream the last item.
    outcome: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer(Stage):
    """Gets a signal when an operation begins or ends. What it raises is only logged."""

    notify: Callable[[Signal], None]
    #: Makes the context manager around each step of an operation, entered in the step's task; it must not raise.
    within: Callable[[Operation], AbstractContextManager[object]] | None = None
    #: Asked when an invocation begins: whether to watch it; None: always. It must be quick and not raise.
    enabled: Callable[[], bool] | None = None


#: The operation whose step is running; None without an observer.
current_operation: ContextVar[Operation | None] = ContextVar("newel_operation", default=None)
