"""A live run of a scripted model, as tests see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import cache
from typing import Any

from newel.agents import LiveRequest, LiveRequestQueue, LlmAgent, RunConfig
from newel.artifacts import InMemoryArtifactService
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedLiveModel
from newel_compose import Composition, compose, compose_once
from newel_kernel import BaseAgent, Event
from newel_types import Blob, Content, FunctionResponse, Part

React = Callable[[Event, LiveRequestQueue], object]


@cache
def composed(distribution: str, **settings: Any) -> Composition:
    """A distribution with settings of live sessions; pauses before reconnecting are short."""
    base = compose_once(distribution)
    live = {**base.distribution.settings.get("live", {}), "reconnect_seconds": 0.001, **settings}
    chosen = base.distribution.model_copy(update={"settings": {**base.distribution.settings, "live": live}})
    return compose(chosen)


def text(words: str) -> Content:
    return Content(role="user", parts=[Part(text=words)])


def audio(data: bytes = b"\1\0" * 8, rate: int = 16000) -> Blob:
    return Blob(data=data, mime_type=f"audio/pcm;rate={rate}")


def result(name: str, response: dict[str, Any], call_id: str) -> Content:
    answer = FunctionResponse(id=call_id, name=name, response=response)
    return Content(role="user", parts=[Part(function_response=answer)])


class Live:
    """A runner over a scripted model (or an agent), and what its live runs gave."""

    def __init__(
        self, *scripts: Sequence[Any], agent: BaseAgent | None = None, distribution: str = "adk", **options: Any
    ) -> None:
        self.model = ScriptedLiveModel(*scripts, acknowledges=options.pop("acknowledges", False))
        plugins, settings = options.pop("plugins", ()), options.pop("settings", {})
        self.agent = agent or LlmAgent(name="root", model=self.model, **options)
        self.sessions, self.artifacts = InMemorySessionService(), InMemoryArtifactService()
        self.runner = Runner(
            app_name="app",
            agent=self.agent,
            session_service=self.sessions,
            artifact_service=self.artifacts,
            auto_create_session=True,
            composition=composed(distribution, **settings),
            plugins=plugins,
        )
        self.queue = LiveRequestQueue()
        self.events: list[Event] = []

    def put(self, *items: Any) -> None:
        for item in items:
            if isinstance(item, str):
                self.queue.send_content(text(item))
            elif isinstance(item, Blob):
                self.queue.send_realtime(item)
            elif isinstance(item, Content):
                self.queue.send_content(item)
            elif isinstance(item, LiveRequest):
                self.queue.send(item)
            else:
                item(self.queue)

    def events_of(self, *, turns: int = 1, **options: Any) -> list[Event]:
        return asyncio.run(self.run(turns=turns, **options))

    async def run(
        self, *say: Any, turns: int = 1, react: React | None = None, config: RunConfig | None = None
    ) -> list[Event]:
        """The events of a run, which is left after so many turns (0: it runs to its end)."""
        self.put(*say)
        events: list[Event] = []
        run = self.runner.run_live(user_id="u", session_id="s", live_request_queue=self.queue, run_config=config)
        async with asyncio.timeout(120), aclosing(run):
            async for event in run:
                events.append(event)
                self.events.append(event)
                if react is not None and asyncio.iscoroutine(done := react(event, self.queue)):
                    await done
                turns -= bool(event.turn_complete)
                if turns == 0 and event.turn_complete:
                    break
        return events

    async def stored(self) -> list[Event]:
        session = await self.sessions.get_session(app_name="app", user_id="u", session_id="s")
        return list(session.events) if session is not None else []


def told(event: Event) -> str:
    """What an event says, in one word or two."""
    if event.get_function_calls():
        return "call " + " ".join(call.name or "" for call in event.get_function_calls())
    if responses := event.get_function_responses():
        return "result " + " ".join(one.name or "" for one in responses)
    part = event.content.parts[0] if event.content and event.content.parts else None
    return _signal(event) if part is None else _said(event, part)


def _signal(event: Event) -> str:
    heard, spoken, update = event.input_transcription, event.output_transcription, event.live_session_resumption_update
    signals = {
        event.error_code or "": event.error_code,
        f"heard {heard.text if heard else ''}": heard,
        f"spoken {spoken.text if spoken else ''}": spoken,
        "turn": event.turn_complete,
        "interrupted": event.interrupted,
        f"handle {update.new_handle if update else ''}": update,
        "state": event.touched_actions,
    }
    return next((name for name, there in signals.items() if there), "nothing")


def _said(event: Event, part: Part) -> str:
    if part.inline_data:
        return "audio"
    if part.file_data:
        return f"file {event.author}"
    return f"{event.author}: {part.text}" + (" ..." if event.partial else "")
