"""The walk of a message: which Python functions it passes, in which files, until its event and the answer are stored.

``python tests/benchmarks/walk.py`` prints both walks in distribution `standard`; ``--adk`` in `adk`. The walk begins
with the first step of `run_async`'s events and ends when the store has applied the event; a call is a Python function
of newel that is entered (a resumed coroutine counts once), the model's own are left out.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from newel.agents import LlmAgent
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_compose import compose
from newel_types import Content, Part

_ROOT = Path(__file__).resolve().parents[2]
_OURS = tuple(str(_ROOT / folder) for folder in ("kernel", "plugins"))
#: More turns than caches and plans need to be full.
_WARM = 30


class _Model(BaseLlm):
    """Answers with a text."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The answer, at once."""
        yield LlmResponse(content=Content(role="model", parts=[Part(text="It is sunny.")]))


@dataclass
class Walk:
    """The calls to one point of a turn, in order: the file and the function of each."""

    calls: list[tuple[str, str]] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """The distinct files, in the order in which they are entered."""
        return list(dict.fromkeys(file for file, _ in self.calls))

    def __str__(self) -> str:
        lines = [f"{len(self.calls)} calls in {len(self.files)} files"]
        return "\n".join([*lines, *(f"  {file}: {name}" for file, name in self.calls)])


class _Store(InMemorySessionService):
    """Says when an event is stored."""

    async def append_event(self, session: Any, event: Any) -> Any:
        """As the base does it."""
        stored = await super().append_event(session, event)
        _steps.append(None)
        return stored


#: The calls so far; None where an event was stored.
_steps: list[tuple[str, str] | None] = []


@contextmanager
def _recorded() -> Iterator[None]:
    seen: set[int] = set()
    kept: list[FrameType] = []  # so that ids are not used again

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or id(frame) in seen or not code.co_filename.startswith(_OURS):
            return
        seen.add(id(frame))
        kept.append(frame)
        if code.co_name not in ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>"):  # no calls from 3.12 on
            _steps.append((str(Path(code.co_filename).relative_to(_ROOT)), code.co_qualname))

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


async def _turn(runner: Runner, session_id: str, *, recorded: bool) -> None:
    await runner.session_service.create_session(app_name="walk", user_id="u", session_id=session_id)
    message = Content(role="user", parts=[Part(text="What is the weather?")])
    events = runner.run_async(user_id="u", session_id=session_id, new_message=message)
    async with aclosing(events):
        if recorded:
            _steps.clear()
            with _recorded():
                async for _ in events:
                    pass
            return
        async for _ in events:
            pass


def walks(distribution: str) -> tuple[Walk, Walk]:
    """The walk to the stored event of the message, and from there to the stored answer of the model."""
    agent = LlmAgent(name="a", model=_Model(), instruction="You are a concise weather assistant.")
    runner = Runner(agent=agent, app_name="walk", session_service=_Store(), composition=compose(distribution))

    async def main() -> None:
        for number in range(_WARM):
            await _turn(runner, f"warm-{number}", recorded=False)
        await _turn(runner, "walk", recorded=True)

    asyncio.run(main())
    first = _steps.index(None)
    second = _steps.index(None, first + 1)
    return Walk([s for s in _steps[:first] if s]), Walk([s for s in _steps[first:second] if s])


if __name__ == "__main__":
    to_message, to_answer = walks("adk" if "--adk" in sys.argv else "standard")
    print(f"to the stored message: {to_message}\nto the stored answer: {to_answer}")
