"""What a live session costs above its connection, which is scripted here: no socket, no service, no SDK.

``python live.py CASE [key=value ...]`` prints one line of JSON, as turns.py does. An operation is a chunk of 20 ms.

  recv, send, duplex n=10000    chunks as fast as they are taken
  sessions n=500 seconds=5      a chunk each 20 ms both ways, in real time, in so many sessions at once
  saved n=10000                 a turn of the model that is kept for an artifact
  slow n=3000                   a consumer that takes a chunk every 2 ms, of as many as it likes
  interrupt n=100               from `interrupted` on the wire to its event, with n chunks waiting

`sessions` tells how late a chunk is where it goes to (`out`: the connection, `back`: the consumer), counted from when
it was due; `given` is how late the loop was to hand it to newel. With bare=1 nothing of newel runs: a queue and a task
for each direction. The collector of garbage is set as the guide on live sessions tells a server to set it; with
collector=0 it is as Python has it. One clock gives the chunks of all sessions, each of which has a phase of its own:
with timers=1 each session has a timer instead, which costs a third as much as newel. With cpu=1 time is the CPU time of
the process, and waiting is skipped: what else the machine does counts for little (taking that time costs 1 us a chunk).
"""
# ruff: noqa: C408, UP031

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import selectors
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import common

os.environ.setdefault("NEWEL_DISTRIBUTION", "adk")
IN, OUT = b"\1\0" * 320, b"\1\0" * 480
#: Seconds of a chunk; how often the clock of `sessions` looks what is due; how long nothing counts.
CHUNK, LOOK, WARM = 0.02, 0.001, 2.0


class Wire:
    """A scripted connection: what is put (bytes of sound, or a response) is received; `sent` is told what is sent."""

    inputs_taken = None

    def __init__(self, sent: Callable[[], object] = lambda: None) -> None:
        self.sent = sent
        self.waiting: deque[Any] = deque()
        self.reader: asyncio.Future[None] | None = None

    def put(self, *items: Any) -> None:
        self.waiting.extend(items)
        if self.reader is not None and not self.reader.done():
            self.reader.set_result(None)

    async def receive(self) -> Any:
        while True:
            while not self.waiting:
                self.reader = asyncio.get_running_loop().create_future()
                await self.reader
            item = self.waiting.popleft()
            yield sound(item) if item.__class__ is bytes else item

    async def send_history(self, history: Any) -> None: ...

    async def send_content(self, content: Any) -> None: ...

    async def send_realtime(self, blob: Any) -> None:
        self.sent()

    async def close(self) -> None: ...


def sound(data: bytes) -> Any:
    """A response as a provider makes it of a message."""
    blob = types.Blob(data=data, mime_type="audio/pcm;rate=24000")
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(inline_data=blob)]))


class CpuTime(selectors.DefaultSelector):
    """The selector of a loop whose time is the CPU time of its thread: waiting takes none, and is skipped."""

    skipped = 0.0

    def now(self) -> float:
        return time.thread_time() + self.skipped

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0 if timeout is not None else None)
        if not ready and timeout is not None:
            self.skipped += max(timeout, 0.0)
        return ready


class Lateness:
    """How late things are."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def told(self, name: str) -> dict[str, float]:
        every = sorted(self.seconds)
        at = {"p50": 0.5, "p99": 0.99, "max": 1.0}
        return {"%s_%s_ms" % (name, one): round(every[int((len(every) - 1) * q)] * 1e3, 2) for one, q in at.items()}


class Collector:
    """How often the collector of garbage stopped everything, and how long at most (ms), by generation."""

    def __init__(self) -> None:
        self.seconds: list[list[float]] = [[], [], []]
        gc.callbacks.append(self)

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self.begun = time.perf_counter()
        else:
            self.seconds[info["generation"]].append(time.perf_counter() - self.begun)

    def told(self) -> dict[str, Any]:
        gc.callbacks.remove(self)
        return {"gc%d" % i: [len(one), round(max(one, default=0.0) * 1e3, 1)] for i, one in enumerate(self.seconds)}


class Meter:
    """CPU and memory from the first tenth of n on."""

    def __init__(self, n: int) -> None:
        self.i, self.first, self.peak = 0, max(n // 10, 1), 0

    def tick(self) -> None:
        self.i += 1
        if self.i == self.first:
            gc.collect()
            self.cpu, self.wall, self.rss = common.cpu(), time.perf_counter(), common.rss_kb()
        elif self.i % 100 == 0:
            self.peak = max(self.peak, common.rss_kb())

    def result(self) -> dict[str, Any]:
        cpu, wall = common.cpu() - self.cpu, time.perf_counter() - self.wall
        grown = max(self.peak, common.rss_kb()) - self.rss
        return dict(cpu_s=cpu, wall_s=wall, ops=self.i - self.first, rss_growth_kb=grown)


class Talk:
    """A session of `sessions`: a chunk each way every `CHUNK`, from its phase on."""

    def __init__(self, bench: Bench, begins: float) -> None:
        self.bench, self.begins = bench, begins
        self.given = self.said = self.heard = 0
        self.queue, self.wire = LiveRequestQueue(), Wire(self.arrived)

    def due(self, index: int) -> float:
        return self.begins + index * CHUNK

    def give(self) -> bool:
        """Hand over the next chunk of both ways, where it is due; whether it was."""
        late = self.bench.now() - self.due(self.given)
        if late < 0:
            return False
        self.given += 1
        self.bench.late["given"].seconds.append(late)
        self.wire.put(OUT)
        self.queue.send_realtime(self.bench.blob())
        return True

    def arrived(self) -> None:
        self.bench.late["out"].seconds.append(self.bench.now() - self.due(self.said))
        self.said += 1

    def shown(self) -> None:
        self.bench.late["back"].seconds.append(self.bench.now() - self.due(self.heard))
        self.heard += 1

    async def run(self) -> None:
        async with await self.bench.live(self.queue, self.wire) as events:
            async for event in events:
                if event.content is not None:
                    self.shown()

    async def bare(self) -> None:
        async def send() -> None:
            while True:
                await self.wire.send_realtime(await self.queue.take())

        sender = asyncio.create_task(send())
        try:
            async for response in self.wire.receive():
                if response.content is not None:
                    self.shown()
        finally:
            sender.cancel()

    async def timer(self) -> None:
        while True:
            await asyncio.sleep(self.due(self.given) - self.bench.now())
            self.give()


class Bench:
    PEER = "newel"

    def imports(self) -> None:
        """What a program with a live agent and sessions in memory imports."""
        global LiveRequestQueue, LlmResponse, RunConfig, types
        from newel import types
        from newel.agents import LiveRequestQueue, LlmAgent
        from newel.agents.run_config import RunConfig
        from newel.artifacts import InMemoryArtifactService
        from newel.models import BaseLlm, LlmResponse
        from newel.runners import Runner
        from newel.sessions import InMemorySessionService

        wires = self.wires = deque[Wire]()

        class Model(BaseLlm):
            """Its connections are the wires, in order."""

            async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
                yield LlmResponse()

            @contextlib.asynccontextmanager
            async def connect(self, llm_request: Any) -> Any:
                yield wires.popleft()

        self.now = time.perf_counter
        self.late = {name: Lateness() for name in ("given", "out", "back")}
        self.sessions = InMemorySessionService()
        agent = LlmAgent(name="root", model=Model(model="scripted"), instruction="Be brief.")
        self.runner = Runner(
            app_name="app", agent=agent, session_service=self.sessions, artifact_service=InMemoryArtifactService()
        )

    def blob(self) -> Any:
        return types.Blob(data=IN, mime_type="audio/pcm;rate=16000")

    async def live(self, queue: Any, wire: Any, **config: Any) -> Any:
        """The events of a live run, to be entered."""
        session = await self.sessions.create_session(app_name="app", user_id="u")
        self.wires.append(wire)
        run = self.runner.run_live(
            user_id="u", session_id=session.id, live_request_queue=queue, run_config=RunConfig(**config)
        )
        return contextlib.aclosing(run)

    async def turn(self, hear: int, say: int, pause: float = 0.0, **config: Any) -> dict[str, Any]:
        """One turn of so many chunks from the model and from the user."""
        meter = Meter(hear or say)
        queue, wire = LiveRequestQueue(), Wire(lambda: said.append(0) if hear else meter.tick())
        said: list[int] = []

        async def talk() -> None:
            for i in range(max(hear, say)):
                wire.put(*[OUT] * (i < hear))
                if i < say:
                    queue.send_realtime(self.blob())
                while len(wire.waiting) > 32 or queue._queue.qsize() > 32:
                    await asyncio.sleep(pause)
            while queue._queue.qsize():
                await asyncio.sleep(0)
            wire.put(LlmResponse(turn_complete=True))

        talking, heard = asyncio.create_task(talk()), 0
        async with await self.live(queue, wire, **config) as events:
            async for event in events:
                if event.turn_complete:
                    break
                if event.content is not None and event.content.parts[0].inline_data is not None:
                    heard += 1
                    meter.tick()
                    await asyncio.sleep(pause) if pause else None
        result = dict(meter.result(), heard=heard)
        await talking
        return result

    # --- cases ----------------------------------------------------------------------------------------

    def case_recv(self, n: int = 10_000) -> Any:
        return asyncio.run(self.turn(n, 0))

    def case_send(self, n: int = 10_000) -> Any:
        return asyncio.run(self.turn(0, n))

    def case_duplex(self, n: int = 10_000) -> Any:
        return asyncio.run(self.turn(n, n))

    def case_saved(self, n: int = 10_000) -> Any:
        return dict(asyncio.run(self.turn(n, 0, save_live_blob=True)), audio_kb=n * len(OUT) // 1024)

    def case_slow(self, n: int = 3_000) -> Any:
        return asyncio.run(self.turn(n, 0, pause=0.002))

    def case_sessions(
        self, n: int = 500, seconds: int = 5, bare: int = 0, timers: int = 0, collector: int = 1, cpu: int = 0
    ) -> Any:
        async def clock(turns: deque[Talk], until: float) -> None:
            while self.now() < until:
                while turns and turns[0].give():
                    turns.rotate(-1)
                await asyncio.sleep(LOOK)

        async def go() -> Any:
            gc.collect()
            if collector:
                gc.freeze()
                gc.set_threshold(10_000)
            rss, begins = common.rss_kb(), self.now() + WARM / 2
            talks = [Talk(self, begins + i * CHUNK / n) for i in range(n)]
            tasks = [asyncio.create_task(one.bare() if bare else one.run()) for one in talks]
            tasks += [asyncio.create_task(one.timer()) for one in talks if timers]
            turns = deque(() if timers else talks)
            await clock(turns, begins + WARM / 2)
            for one in self.late.values():
                one.seconds.clear()
            each, collected = (common.rss_kb() - rss) / n, Collector()
            used, wall = common.cpu(), time.perf_counter()
            await clock(turns, begins + WARM / 2 + seconds)
            used, wall = common.cpu() - used, time.perf_counter() - wall
            ops, pauses = sum(len(self.late[way].seconds) for way in ("out", "back")), collected.told()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            late = {k: v for name, one in self.late.items() for k, v in one.told(name).items()}
            return dict(cpu_s=used, wall_s=wall, ops=ops, kb_each=round(each, 1), **late, **pauses)

        loop = asyncio.SelectorEventLoop(selector := CpuTime())
        if cpu:
            loop.time = self.now = selector.now  # type: ignore[method-assign]
            return loop.run_until_complete(go())
        return asyncio.run(go())

    def case_interrupt(self, n: int = 100, rounds: int = 100) -> Any:
        async def go() -> Any:
            wire, delays, told, played = Wire(), Lateness(), 0.0, 0
            wire.put(OUT)
            cpu, wall = common.cpu(), time.perf_counter()
            async with await self.live(LiveRequestQueue(), wire) as events:
                async for event in events:
                    played += event.content is not None
                    if not event.interrupted and told:
                        continue
                    if event.interrupted:
                        delays.seconds.append(time.perf_counter() - told)
                    if len(delays.seconds) == rounds:
                        break
                    wire.put(*[OUT] * n)
                    await asyncio.sleep(0.001)  # they are read ahead
                    told = time.perf_counter()
                    wire.put(LlmResponse(interrupted=True))
                    await asyncio.sleep(0)
            cpu, wall = common.cpu() - cpu, time.perf_counter() - wall
            return dict(cpu_s=cpu, wall_s=wall, ops=rounds, played=played, **delays.told("interrupted"))

        return asyncio.run(go())


if __name__ == "__main__":
    common.main(Bench)
