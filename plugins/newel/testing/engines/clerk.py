"""The agent of the checks: what it does is in the user's message, and what it has done in the log and in files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from newel.agents import LlmAgent
from newel.apps import App
from newel.models import BaseLlm
from newel.tools import FunctionTool
from newel_kernel import Effect, LlmRequest, LlmResponse
from newel_types import Content, FunctionCall, Part

#: The answer of each run that ends well.
ANSWER = "It is done."
#: How often a tool that waits looks for its file, in seconds.
_POLL_SECONDS = 0.02


class NotYetError(Exception):
    """The agent fails, as it was told to."""


class Clerk(BaseLlm):
    """Does what the last message says: ``hello``, ``pay FILE``, ``hang FILE`` or ``fail FILE``, then answers."""

    model: str = "clerk"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The call that the message asks for, and after its result the answer."""
        parts = [(one.role, part) for one in llm_request.contents for part in one.parts or ()]
        texts = [number for number, (role, part) in enumerate(parts) if role == "user" and part.text]
        word, _, file = (parts[texts[-1]][1].text or "").partition(" ")
        if word == "fail" and not exists(file):
            raise NotYetError
        has_result = any(part.function_response for _, part in parts[texts[-1] :])
        calls = {"pay": pay, "hang": hang}
        part = Part(text=ANSWER)
        if word in calls and not has_result:
            part = Part(function_call=FunctionCall(name=word, args={"file": file}))
        yield LlmResponse(content=Content(role="model", parts=[part]))


async def pay(file: str) -> str:
    """Pay, once somebody has approved."""
    note(file, "paid")
    return "paid"


async def hang(file: str) -> str:
    """Wait until the file exists."""
    note(f"{file}.begun", str(os.getpid()))
    while not exists(file):  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(_POLL_SECONDS)
    note(f"{file}.ended", str(os.getpid()))
    return "over"


def note(file: str, line: str) -> None:
    """Append a line, whole."""
    with Path(file).open("a", encoding="utf-8") as out:
        out.write(f"{line}\n")


def noted(file: str) -> list[str]:
    """The lines of a file; none if there is no file."""
    return Path(file).read_text(encoding="utf-8").splitlines() if Path(file).exists() else []


def exists(file: str) -> bool:
    """Whether there is such a file."""
    return Path(file).exists()


def make_file(file: str) -> None:
    """Make an empty file, for which an agent waits."""
    Path(file).touch()


def clerk(name: str) -> App:
    """The app."""
    tools = [
        FunctionTool(pay, require_confirmation=True, effect=Effect.AT_MOST_ONCE),
        FunctionTool(hang, effect=Effect.IDEMPOTENT),
    ]
    return App(name=name, root_agent=LlmAgent(name="clerk", model=Clerk(), tools=tools))
