"""A support desk: a refund waits for an approval, which another process gives; a web page follows the answers."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from newel import Agent, Runner, tool
from newel.agents import RunConfig, StreamingMode
from newel.sessions import SqliteSessionService
from newel.testing import ScriptedModel
from newel.types import FunctionCall


@tool(require_confirmation=True, effect="at_most_once")
def refund(order: int, euro: float) -> dict[str, float]:
    """Pay money back."""
    with open("paid.txt", "a", encoding="utf-8") as file:
        file.write(f"{order}: {euro}\n")
    return {"paid": euro}


def desk(steps: Sequence[str | FunctionCall]) -> Runner[object, str]:
    """The runner of a process; its model is scripted, so that the program needs no key."""
    agent = Agent(name="desk", model=ScriptedModel(steps), instruction="Help customers.", tools=[refund])
    store = SqliteSessionService("sessions.db")
    return Runner(agent=agent, app_name="desk", session_service=store, auto_create_session=True)


async def ask() -> None:
    """The customer asks; the process ends before anybody has approved."""
    runner = desk([FunctionCall(name="refund", args={"order": 17, "euro": 129.0})])
    async with aclosing(runner.run_async(user_id="ann", session_id="1", new_message="My money back!")) as events:
        async for event in events:
            logging.info("%s: %s", event.author, event.text)
    for question in await runner.questions(user_id="ann", session_id="1"):
        print("waits:", question.kind, question.original["name"], question.original["args"])
    await runner.close()


async def approve() -> None:
    """Another process answers what waits."""
    runner = desk(["Your money is on its way."])
    for question in await runner.questions(user_id="ann", session_id="1"):
        async with aclosing(runner.answer(question, True, user_id="ann", session_id="1")) as events:
            async for event in events:
                if event.text:
                    print(event.text)
    await runner.close()


def serve(port: int) -> None:
    """An endpoint with server-sent events."""
    runner = desk(["Good day."])

    async def frames(user: str, message: str) -> AsyncIterator[str]:
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        try:
            async for event in runner.run_async(user_id=user, session_id="web", new_message=message, run_config=config):
                yield f"data: {event.model_dump_json(exclude_none=True, by_alias=True)}\n\n"
        except Exception:
            logging.exception("the run failed")
            yield f"data: {json.dumps({'errorCode': 'FAILED'})}\n\n"

    async def chat(request: Request) -> StreamingResponse:
        query = request.query_params
        return StreamingResponse(frames(query["user"], query["message"]), media_type="text/event-stream")

    uvicorn.run(Starlette(routes=[Route("/chat", chat)]), port=port, log_level="warning")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        asyncio.run(ask() if sys.argv[1] == "ask" else approve())
