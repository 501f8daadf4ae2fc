"""Stepping: a run that waits before its calls of models and tools, until its engine lets it go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from newel import models
from newel_kernel import (
    BaseTool,
    Chains,
    Context,
    InvocationContext,
    Json,
    Key,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    Stash,
    ToolCall,
    ToolPolicy,
)

if TYPE_CHECKING:
    from newel.models import BaseLlm
    from newel.models.kinds import ModelCall

#: How many turns of the event loop the other calls of the same answer have to come, too.
_TURNS = 10


class Call(NamedTuple):
    """A call that a run is about to make."""

    kind: Literal["model", "tool"]
    #: The name of the tool, or of the agent that asks its model.
    name: str


class Stepping:
    """Where one run waits. A call that begins while another one is under way does not wait: it is of the same step.

    So the tools that one answer calls are a step, and so is what an agent does that is called as a tool.
    """

    def __init__(self) -> None:
        #: How many events the session has.
        self.stored: Callable[[], int] = int
        self._waiting: dict[asyncio.Future[None], Call] = {}
        self._under_way = 0
        self._stops = asyncio.Event()

    def begin(self, ctx: InvocationContext) -> None:
        """Have the calls of an invocation wait here."""
        session = ctx.session
        self.stored = lambda: len(session.events)
        ctx.stash[_STEPPING] = self
        ctx.composition = _stepped(ctx.composition).for_app(ctx.app)

    @property
    def waiting(self) -> list[Call]:
        """The calls of the next step."""
        return [*self._waiting.values()]

    async def stopped(self) -> None:
        """Wait until there is a next step and nothing of the last one is under way."""
        while True:
            await self._stops.wait()
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            if self._waiting:  # what waited may have been cancelled meanwhile
                return

    def go_on(self) -> None:
        """Begin the next step. A call that is cancelled, and does not know it yet, takes no part."""
        for future in [one for one in self._waiting if not one.done()]:
            del self._waiting[future]
            self._under_way += 1
            future.set_result(None)
        self._stops.clear()

    async def enter(self, call: Call) -> None:
        """Wait until a call may begin."""
        if self._under_way:
            self._under_way += 1
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = call
        self._stops.set()
        try:
            await future
        except BaseException:
            if self._waiting.pop(future, None) is None:
                self.leave()
            elif not self._waiting:
                self._stops.clear()
            raise

    def leave(self) -> None:
        """A call has ended."""
        self._under_way -= 1


_STEPPING = Key[Stepping]("stepping")
#: In a request: where its call waits, and what it is called.
_CALL = Key[tuple[Stepping, Call]]("the step of a request")
_STEPPED = Key[Chains]("chains whose calls wait")


def _stepped(chains: Chains) -> Chains:
    """`chains` with a wait around each call, outside all policies; made once."""
    if (made := chains.stash.get(_STEPPED, None)) is None:
        made = replace(
            chains,
            request_chain=(*chains.request_chain, RequestProcessor(name="stepping", run=_note)),
            tool_chain=(ToolPolicy(name="stepping", wrap=_waiting_tool), *chains.tool_chain),
            stash=Stash(),  # what is in the old one may have been made of the old chains
        )
        models.surround(made, _waiting_model)
        chains.stash[_STEPPED] = made
    return made


def _note(ctx: InvocationContext, request: LlmRequest) -> None:
    if (stepping := ctx.stash.get(_STEPPING, None)) is not None:
        request.stash[_CALL] = stepping, Call("model", ctx.agent.name)


def _waiting_model(ask: ModelCall) -> ModelCall:
    def asked(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        step = request.stash.get(_CALL, None)
        answers = ask(model, request, stream)
        return answers if step is None else _answers(*step, answers)

    return asked


async def _answers(
    stepping: Stepping, call: Call, answers: AsyncGenerator[LlmResponse, None]
) -> AsyncGenerator[LlmResponse, None]:
    """The responses; the call has ended with the first whole one: its tools run before the generator ends."""
    async with aclosing(answers):
        await stepping.enter(call)
        is_under_way = True
        try:
            async for response in answers:
                if is_under_way and not getattr(response, "partial", None):
                    is_under_way = False
                    stepping.leave()
                yield response
        finally:
            if is_under_way:
                stepping.leave()


def _waiting_tool(call_tool: ToolCall) -> ToolCall:
    def called(tool: BaseTool, args: Json, context: Context) -> Awaitable[Any]:
        stepping = context.get_invocation_context().stash.get(_STEPPING, None)
        if stepping is None:
            return call_tool(tool, args, context)
        return _called(stepping, call_tool, tool, args, context)

    return called


async def _called(stepping: Stepping, call_tool: ToolCall, tool: BaseTool, args: Json, context: Context) -> object:
    await stepping.enter(Call("tool", tool.name))
    try:
        return await call_tool(tool, args, context)
    finally:
        stepping.leave()
