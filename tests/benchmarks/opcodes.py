"""How many opcodes of Python a turn takes: a measure of the runtime's cost that repeats exactly.

``python tests/benchmarks/opcodes.py`` prints the table of both distributions; ``--update`` writes it into opcodes.json,
for the minor version of Python that runs; ``--top CASE`` lists where a case of `standard` spends its opcodes. A turn
is a message in a new session in memory, from `run_async` to its last event. The model is a plain subclass of BaseLlm
that answers at once, and its own opcodes are left out, as are those of this script. Sync tools run in place, as they
do after some quick calls.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

from pydantic import Field

from newel.agents import LlmAgent, ParallelAgent, RunConfig, SequentialAgent, StreamingMode
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_types import Content, FunctionCall, Part

TABLE = Path(__file__).with_name("opcodes.json")
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
DISTRIBUTIONS = ("standard", "adk")
#: More turns than a tool's quick calls before it runs in place (`tool_threads.in_place_after`).
_WARM = 30
_CHUNKS = 200
#: In a busy process a quick call may look slow; here none does, so that the path of a tool is always the same.
_STEADY = {"standard": {"tool_threads": {"quick": 60}}, "adk": {}}
_HERE = __file__


class Scripted(BaseLlm):
    """Answers with a text, or with `calls` first."""

    model: str = "scripted"
    calls: list[FunctionCall] = Field(default_factory=list)
    chunks: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The answer, at once."""
        last = (llm_request.contents[-1].parts or [Part()])[-1]
        if self.calls and last.function_response is None:
            yield _answer(*[Part(function_call=call.model_copy()) for call in self.calls])
            return
        for number in range(self.chunks):
            yield _answer(Part(text=f"token{number} "), partial=True)
        yield _answer(Part(text="It is sunny and 22 degrees in Paris."))


class Networked(Scripted):
    """The same, within the policies for models behind a network."""

    networked = True


def _answer(*parts: Part, partial: bool | None = None) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=list(parts)), partial=partial)


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny, 22C in {city}"


async def lookup(city: str) -> str:
    """Look a city up."""
    await asyncio.sleep(0)
    return f"sunny, 22C in {city}"


def _call(name: str, number: int = 0, **args: str) -> FunctionCall:
    return FunctionCall(id=f"call_{number}", name=name, args=args)


def _agent(name: str = "a", model: BaseLlm | None = None, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=model or Scripted(), instruction="You are a concise weather assistant.", **fields)


_ONE = [_call("get_weather", city="Paris")]
_EIGHT = [_call("lookup", number, city="Paris") for number in range(8)]
_TRANSFER = [_call("transfer_to_agent", agent_name="sub")]
#: Name -> a function that makes the agent, and into how many turns or chunks the count is divided.
CASES: dict[str, tuple[Callable[[], Any], int]] = {
    "text": (_agent, 1),
    "text, networked model": (lambda: _agent(model=Networked()), 1),
    "tool": (lambda: _agent(model=Scripted(calls=_ONE), tools=[get_weather]), 1),
    "tool, networked model": (lambda: _agent(model=Networked(calls=_ONE), tools=[get_weather]), 1),
    "eight tools at once": (lambda: _agent(model=Scripted(calls=_EIGHT), tools=[lookup]), 1),
    "transfer": (lambda: _agent(model=Scripted(calls=_TRANSFER), sub_agents=[_agent("sub")]), 1),
    "sequential, three agents": (lambda: SequentialAgent(name="s", sub_agents=[_agent(f"a{n}") for n in range(3)]), 1),
    "parallel, four agents": (lambda: ParallelAgent(name="p", sub_agents=[_agent(f"a{n}") for n in range(4)]), 1),
    "a chunk of a stream": (lambda: _agent(model=Scripted(chunks=_CHUNKS)), _CHUNKS),
    "a chunk, networked model": (lambda: _agent(model=Networked(chunks=_CHUNKS)), _CHUNKS),
    "a tool turn among ten at once": (lambda: _agent(model=Scripted(calls=_ONE), tools=[get_weather]), 10),
}


@contextmanager
def _counting(counts: Counter[CodeType]) -> Any:
    """Count the opcodes of every frame that is entered meanwhile in this thread, by code object."""

    def trace(frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if code.co_filename == _HERE:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False

        def count(frame: FrameType, event: str, _: object) -> Any:
            if event == "opcode":
                counts[code] += 1
            return count

        return count

    gc.collect()
    gc.disable()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)
        gc.enable()


def opcodes(case: str, distribution: Path) -> Counter[CodeType]:
    """The opcodes of a case by code object, once it is warm."""
    make, share = CASES[case]
    streams = "chunk" in case
    counts: Counter[CodeType] = Counter()

    async def run() -> None:
        service = InMemorySessionService()
        runner = Runner(app_name="app", agent=make(), session_service=service, distribution=distribution)
        config = RunConfig(streaming_mode=StreamingMode.SSE if streams else StreamingMode.NONE)
        at_once = share if not streams else 1

        async def turn(session_id: str) -> None:
            message = Content(role="user", parts=[Part(text="What is the weather in Paris today, please?")])
            async for _ in runner.run_async(user_id="u", session_id=session_id, new_message=message, run_config=config):
                pass

        async def turns(ids: list[str]) -> None:
            await _together([lambda one=one: turn(one) for one in ids])

        async def sessions() -> list[str]:
            return [(await service.create_session(app_name="app", user_id="u")).id for _ in range(at_once)]

        for _ in range(_WARM):
            await turns(await sessions())
        ids = await sessions()
        with _counting(counts):
            await turns(ids)

    asyncio.run(run())
    return counts


async def _together(makers: list[Callable[[], Awaitable[None]]]) -> None:
    if len(makers) == 1:
        await makers[0]()
    else:
        await asyncio.gather(*[make() for make in makers])


def table(distribution: str) -> dict[str, int]:
    """Case -> its opcodes, per turn or per chunk."""
    with TemporaryDirectory() as folder:
        path = _steady(distribution, Path(folder))
        return {case: round(opcodes(case, path).total() / share) for case, (_, share) in CASES.items()}


def _steady(distribution: str, folder: Path) -> Path:
    path = folder / "steady.yaml"
    path.write_text(json.dumps({"name": "steady", "extends": distribution, "settings": _STEADY[distribution]}))
    return path


def _top(case: str, distribution: str, most: int) -> None:
    with TemporaryDirectory() as folder:
        counts = opcodes(case, _steady(distribution, Path(folder)))
    print(f"{counts.total():8,} {case}, {distribution}")
    for code, count in counts.most_common(most):
        print(f"{count:8,} {code.co_qualname}  {os.path.relpath(code.co_filename)}:{code.co_firstlineno}")


def main() -> None:
    """Print, update or explain the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the table of this version of Python")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--top", metavar="CASE", choices=list(CASES), help="list the dearest functions of a case")
    parser.add_argument("--distribution", default="standard", choices=DISTRIBUTIONS, help="of --top")
    parser.add_argument("--most", type=int, default=40, help="lines of --top")
    options = parser.parse_args()
    if options.top:
        return _top(options.top, options.distribution, options.most)
    found = {name: table(name) for name in DISTRIBUTIONS}
    if options.update:
        tables = json.loads(TABLE.read_text()) if TABLE.exists() else {}
        TABLE.write_text(json.dumps({**tables, VERSION: found}, indent=2) + "\n")
    if options.json:
        print(json.dumps(found))
        return None
    print(f"{'opcodes, Python ' + VERSION:34} {'standard':>10} {'adk':>10}")
    for case in CASES:
        print(f"{case:34} {found['standard'][case]:10,} {found['adk'][case]:10,}")
    return None


if __name__ == "__main__":
    main()
