"""Observation: the one seam through which operations tell plugins that they begin and end.

An *operation* is an invocation, an agent's run, a model call, a tool call, the merging of parallel results, or
whatever else says so; plugins subscribe with `register_observers`. Where nobody does, `current_operation` stays None,
and that is all a place looks at. A place is two lines, for a generator and for a coroutine function:

    if (parent := current_operation.get()) is not None:
        events = parent.child("node", node.name, ctx, subject=node, input=node_input).stream(events)

    if (parent := current_operation.get()) is not None:
        return await parent.child("tool", name, ctx, tool, call).call(execute, ctx, call)

`current_operation` is set while a step of an operation runs, from one await to its end in the same task, and never
while a generator is suspended: whoever iterates keeps a context of their own, and each end comes where its start came.
What is begun from elsewhere than its parent's steps gets its parent by hand.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from newel_kernel._internal import seam
from newel_kernel._internal.kinds import Descriptor

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
    """Something that begins and ends; what it works on and with is held by reference, to be read and not changed."""

    #: ``invocation``, ``agent``, ``model``, ``tool``, ``merge``, ``node``, or another's own word.
    kind: str
    name: str
    session_id: str
    #: Of an invocation None, unless it resumes one: its operation begins before it has an id.
    invocation_id: str | None
    #: What runs: the runner, agent, model or tool (None: an unknown one).
    subject: Any = field(default=None, repr=False)
    #: What it works on: the user's message, the LlmRequest, the FunctionCall or the events.
    input: Any = field(default=None, repr=False)
    parent: Operation | None = field(default_factory=lambda: current_operation.get(), repr=False)
    observers: tuple[Observer, ...] = field(default=(), repr=False)
    id: str = field(default_factory=lambda: seam.new_id())

    def child(
        self, kind: str, name: str, ctx: Invocation, subject: object = None, input: object = None
    ) -> Operation:
        """An operation within this one."""
        return Operation(kind, name, ctx.session.id, ctx.invocation_id, subject, input, self, self.observers)

    async def stream(
        self, items: AsyncGenerator[T, None], is_last: Callable[[T], bool] | None = None
    ) -> AsyncGenerator[T, None]:
        """`items`; the operation begins with the first step, and ends with the last or when the stream is closed.

        With `is_last` it ends as soon as an item is the last that matters, before that item is worked on.
        """
        with ExitStack() as lasting:
            outcome = lasting.enter_context(self.running())
            try:
                while True:
                    with self._within():
                        try:
                            outcome[:] = [await anext(items)]
                        except StopAsyncIteration:
                            return
                    if is_last is not None and is_last(outcome[0]):
                        lasting.close()
                    yield outcome[0]
            except BaseException:  # left before its end
                with self._within():
                    await items.aclose()
                raise

    async def call(self, function: Callable[..., Awaitable[T]], *args: object) -> T:
        """What `function` gives; the operation lasts as long as it runs."""
        with self.running() as outcome, self._within():
            outcome.append(await function(*args))
            return outcome[0]  # type: ignore[no-any-return]

    @contextmanager
    def running(self) -> Iterator[list[Any]]:
        """The operation around a block, which puts what came of it into the list."""
        outcome: list[Any] = []
        error: BaseException | None = None
        began = seam.monotonic()
        self._tell(Signal("start", self))
        try:
            yield outcome
        except BaseException as raised:
            error = None if isinstance(raised, GeneratorExit) else raised  # who iterated wanted no more
            raise
        finally:
            phase: Literal["stop", "exception"] = "stop" if error is None else "exception"
            self._tell(Signal(phase, self, seam.monotonic() - began, error, outcome[-1] if outcome else None))
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

    def _tell(self, signal: Signal) -> None:
        for observer in self.observers:
            try:
                observer.notify(signal)
            except Exception:  # noqa: BLE001 - a plugin boundary: who only watches does not stop what he watches
                _log.exception("the observer %r failed at the %s of %r", observer.name, signal.phase, self)


@dataclass(frozen=True, slots=True)
class Signal:
    """That an operation began or ended: one start, then one stop or exception."""

    phase: Literal["start", "stop", "exception"]
    operation: Operation
    #: How long it took, by a clock that only goes forward; 0 at the start.
    seconds: float = 0.0
    error: BaseException | None = None
    #: The result; of a stream the last item.
    outcome: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer(Descriptor):
    """Gets a signal when an operation begins or ends. What it raises is logged, and no more."""

    notify: Callable[[Signal], None]
    #: Gives what stands around each step of an operation, in the step's task; it must not raise.
    within: Callable[[Operation], AbstractContextManager[object]] | None = None
    #: Whether to watch an invocation that begins; None: always. It must be quick and not raise.
    wanted: Callable[[], bool] | None = None


#: The operation whose step is running, where somebody observes.
current_operation: ContextVar[Operation | None] = ContextVar("newel_operation", default=None)
