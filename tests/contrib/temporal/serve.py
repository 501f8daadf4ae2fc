"""A worker in a process of its own: it notes each run that it begins in a file, and holds those that it is told to."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.contrib.temporal.servers import Scripted, ended

from newel.engines import InvocationSpec, Outcome
from newel_temporal import Address, TemporalEngine


async def serve(uri: str, name: str, folder: Path, queues: list[str]) -> None:
    async def script(spec: InvocationSpec) -> Outcome:
        with (folder / "begun").open("a") as begun:
            begun.write(f"{name} {spec.key}\n")
        while (folder / f"hold-{name}").exists():
            await asyncio.sleep(0.05)
        return ended()

    engine = TemporalEngine(Address.of(uri))
    worker = engine.worker(Scripted(script), queues, name=name)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await worker.start()
    (folder / f"ready-{name}").touch()
    await stop.wait()
    await worker.drain(0.5)
    await engine.close()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4:]))
    os._exit(0)
