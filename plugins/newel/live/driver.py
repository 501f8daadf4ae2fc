"""The driver of an agent's live run: prepare, connect, and make events of what comes, until the end or a handover."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from functools import partial
from inspect import isawaitable
from operator import attrgetter
from typing import TYPE_CHECKING, cast

from newel.budgets.payer import check_live
from newel.contexts.invocation_context import full_invocation
from newel.live.configuration import prepare_live
from newel.live.inbox import End, Item, PendingEvent, UserAnswer
from newel.live.kinds import LiveIn
from newel.live.link import Link
from newel.live.queue import LiveRequestQueue
from newel.live.reading import as_response, spoken_by_user
from newel.live.sender import refusal
from newel.live.session import RunningSession
from newel.live.settings import Settings
from newel.live.task_completed import NAME as TASK_COMPLETED
from newel.live.task_completed import TaskCompleted
from newel.live.turn import Turn
from newel.turns.transfers import Handover
from newel_kernel import DONE, Event, InvocationContext, LlmResponse, Log, ModelAgent, Plan, answer_event, prepare
from newel_types import Content, FunctionCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from newel.live.kinds import InStep, Reported

Events = AsyncGenerator[Event, None]
#: What a response holds in addition to its content, and the values of a response that holds nothing else.
_FURTHER = attrgetter("sparse_values", "usage_metadata", "model_version", "finish_reason", "custom_metadata")
_NOTHING_FURTHER = (LlmResponse.no_sparse, None, None, None, None)


async def converse(context: InvocationContext) -> Events:
    """The events of the agent of `context` in a live run."""
    ctx = full_invocation(context)
    check_live(ctx)
    queue: LiveRequestQueue = ctx.live_request_queue
    queue.claim(ctx.stash, ctx.composition.settings_of("live", Settings).queue_bytes)
    again = True
    while again:
        session = RunningSession(ctx, Plan.of(ctx), cast("ModelAgent", ctx.agent).__newel__.new_request())
        async with aclosing(_prepared(session)) as events:
            async for event in events:
                yield event
        if ctx.end_invocation:
            return
        conversation, inbox = Conversation(session), session.inbox
        conversation.begin()
        try:
            while not (session.left or session.restarts):
                if (item := inbox.pop() or await inbox.arrival()) is None:
                    continue
                reported = conversation.reported(item) if conversation.steps else None
                if reported is None and (sound := conversation.sound(item)) is not None:
                    yield sound
                    continue
                async with aclosing(conversation.events(item, reported)) as events:
                    async for event in events:
                        yield event
        finally:
            conversation.turn.end()
            await session.leave()
        for event in session.missed():
            yield event
        again = session.restarts


async def _prepared(session: RunningSession) -> Events:
    """The events that the request chain reports while it builds the request of the connection."""
    position = 0
    while position != DONE:
        position, reported = await prepare(session.ctx, session.plan, session.request, position)
        for event in reported:
            yield event
    if not session.ctx.end_invocation:
        prepare_live(session)


class Conversation:
    """What comes over the connections of one session, as events."""

    __slots__ = ("session", "steps", "turn")

    def __init__(self, session: RunningSession) -> None:
        self.session = session
        self.turn = Turn(session)
        #: The steps on the way in, then the response chain.
        self.steps: Sequence[InStep] = ()

    def begin(self) -> None:
        """Connect, and make the steps on the way in."""
        session = self.session
        session.begin(Link(session))
        steps = [one.make(session) for one in session.ctx.composition.registry.all(LiveIn) if not one.arriving]
        chain = [partial(run, session.ctx, session.request) for run in session.plan.response]
        self.steps = [*(step for step in steps if step is not None), *chain]

    def sound(self, item: Item) -> Event | None:
        """The event of a response within a turn that holds nothing but sound; None for anything else.

        It is what `events` gives, at less cost: most responses are sound.
        """
        session = self.session
        if not isinstance(item, LlmResponse) or not self.turn.running or session.restarts or session.draft.actions:
            return None
        content, ctx = item.content, session.ctx
        if content is None or content.role != "model" or _FURTHER(item) != _NOTHING_FURTHER:
            return None
        if not (parts := content.parts) or len(parts) != 1 or parts[0].inline_data is None:
            return None
        return Event(ctx.invocation_id, ctx.agent.name, content, item.partial, None, ctx.branch, ctx.isolation_scope)

    async def events(self, item: Item, reported: Awaitable[list[Event]] | None) -> Events:
        """The events of an item, after those that were reported on it."""
        if not isinstance(item, LlmResponse):
            async with aclosing(self._special(item)) as events:
                async for event in events:
                    yield event
            return
        for event in await reported if reported is not None else ():
            yield event
        if (pair := self._event_of(item)) is None:
            return
        event, calls = pair
        yield event
        if calls and not event.partial:
            async with aclosing(self._called(event, calls)) as results:
                async for event in results:
                    yield event

    def _event_of(self, item: LlmResponse) -> tuple[Event, Sequence[FunctionCall]] | None:
        """The event of a response and its calls; None if it makes no event."""
        session = self.session
        if session.restarts:
            return (session.answer, ()) if session.answer is not None else None
        if (response := as_response(item)) is None:
            return None
        pair = answer_event(session.ctx, session.request, response, session.draft)
        if spoken_by_user(pair[0]):
            pair[0].author = "user"
        self.turn.note(pair[0])
        return pair

    async def _special(self, item: Item) -> Events:
        """Items that are not responses: an event that a task left, an answer to a question, the end."""
        if isinstance(item, PendingEvent):
            yield item.event
            if not item.committed.done():
                item.committed.set_result(None)
        elif isinstance(item, UserAnswer):
            async with aclosing(self._act_on(item)) as events:
                async for event in events:
                    yield event
        elif isinstance(item, End):
            self.session.left = True
            if item.error is not None:
                raise item.error

    def reported(self, item: Item) -> Awaitable[list[Event]] | None:
        """What the steps of `live_in`, then the response chain have to report before a response; None: nothing."""
        if isinstance(item, LlmResponse):
            for index, step in enumerate(self.steps):
                if (reported := step(item)) is not None:
                    return self._rest(reported, item, self.steps[index + 1 :])
        return None

    async def _rest(
        self, first: Reported | Awaitable[Reported], response: LlmResponse, steps: Sequence[InStep]
    ) -> list[Event]:
        events = list((await first if isawaitable(first) else first) or ())
        for step in steps:
            reported = step(response)
            events.extend((await reported if isawaitable(reported) else reported) or ())
        return events

    async def _called(self, event: Event, calls: Sequence[FunctionCall]) -> Events:
        """Run the calls of `event`; each event of results is committed, then sent to the model."""
        results = await self.session.background.run(event, calls)
        async with aclosing(self._send_results(results)) as events:
            async for one in events:
                yield one

    async def _act_on(self, answer: UserAnswer) -> Events:
        """Store the user's answer to a question, after the question and what belongs to it, and act on it."""
        ctx = self.session.ctx
        try:
            messages = ctx.composition.turns.messages(ctx, Log(ctx.session.events).turn(answer.content))
        except ValueError as error:
            yield refusal(self.session, str(error))
            return
        for event in messages:
            await ctx.session_service.append_event(ctx.session, event)
        if messages:
            async with aclosing(self._done(answer.content)) as events:
                async for event in events:
                    yield event

    async def _done(self, answer: Content) -> Events:
        """Let the request chain act on an answer that is stored; the results are sent to the model."""
        session = self.session
        ctx, request, position = session.ctx, session.agent.__newel__.new_request(), 0
        ctx.user_content, before = answer, ctx.user_content
        try:
            while position != DONE:
                position, reported = await prepare(ctx, session.plan, request, position)
                async with aclosing(self._send_results(reported)) as events:
                    async for one in events:
                        yield one
        finally:
            ctx.user_content = before

    async def _send_results(self, results: Iterable[Event]) -> Events:
        """Yield `results` one by one; results of calls are sent to the model once they are committed."""
        session = self.session
        for event in results:
            if isinstance(event, Handover):
                await session.leave()
                session.left = True
                for one in self._left_over():
                    yield one
                yield event
                return
            transfers, completes = self._transfers(event), self._completes(event)
            if transfers or completes:
                session.listen_no_more()
            yield event
            if not event.get_function_responses() or event.content is None:
                continue
            if (content := session.background.to_send(event)) is not None:
                await session.send(content)
            if transfers:
                await session.hang_up()
            if completes:
                session.left = True
                return

    def _left_over(self) -> list[Event]:
        """What was spoken and not read yet as another agent took over, and what is reported then."""
        pairs = map(self._event_of, self.session.unread)
        return [*(pair[0] for pair in pairs if pair is not None), *self.session.missed()]

    def _transfers(self, event: Event) -> bool:
        """Whether another agent goes on after `event`."""
        actions = event.touched_actions
        return actions is not None and actions.transfer_to_agent not in (None, self.session.agent.name)

    def _completes(self, event: Event) -> bool:
        """Whether the step of a sequence is over; a tool of that name may be the user's own."""
        return isinstance(self.session.request.tools_dict.get(TASK_COMPLETED), TaskCompleted) and any(
            one.name == TASK_COMPLETED for one in event.get_function_responses()
        )
