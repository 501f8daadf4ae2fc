"""WorkerProcess: a process that takes runs from an engine until a signal ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from newel.cli.conversation import open_store, store_of
from newel.cli.engine_options import open_engine
from newel.cli.health import PLAIN, Answer, Health
from newel.cli.terminal import say
from newel.cli.worker_readiness import WorkerReadiness
from newel.cli.worker_sources import worker_sources
from newel.engines import AgentWork, BaseEngine, EngineWorker, InvocationSpec, Outcome, PostponedError, Stepping
from newel.files.agent_source import AgentSource
from newel.runners import Runner, open_services
from newel.runners.services import Services
from newel.runs.closing import Closing
from newel.server.kinds import BusBackend
from newel.server.metrics.accounts import Accounts
from newel.server.metrics.process import METRICS
from newel.server.metrics.series import Counter, family
from newel_compose import Composition, extend
from newel_kernel import ConfigurationError

#: What is left for runs that are released and for connections to end; then the process ends anyway.
_END_SECONDS = 5.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What the command line says."""

    engine: str | None = None
    sessions: str | None = None
    concurrency: int = 10
    drain: float = 30.0
    port: int = 0
    name: str = ""


class WorkerProcess:
    """A worker for some agents, which are imported before it takes a run."""

    def __init__(self, composition: Composition, agents: Sequence[str], options: WorkerOptions) -> None:
        self._options = options
        bus = composition.open_service(BusBackend)
        self._publisher = bus.publisher() if bus is not None else None
        objects = [Accounts(), *([self._publisher] if self._publisher is not None else [])]
        self._composition = extend(composition, objects)
        self._sources = worker_sources(agents, composition)
        self._worker: EngineWorker | None = None
        self._readiness: WorkerReadiness | None = None
        self._work: _Counted | None = None
        self._is_ready = False
        self._signals = 0
        self._signalled = asyncio.Event()

    async def run(self) -> int:
        """Take runs until a signal; the exit status."""
        loop = asyncio.get_running_loop()
        for sig in _SIGNALS:
            with suppress(NotImplementedError, RuntimeError):  # on Windows, and outside of the main thread
                loop.add_signal_handler(sig, self._told, sig)
        engine = open_engine(self._composition, self._options.engine)
        health = Health({"/healthz": self._healthz, "/readyz": self._readyz, "/metrics": self._metrics})
        services: Services | None = None
        try:
            services = self._services()
            port = await health.listen(self._options.port)
            await self._serve(engine, services, port)
        finally:
            await health.close()
            await engine.close()
            for service in (*(services or ()), self._publisher):
                if isinstance(service, Closing):
                    await service.close()
        return 0

    async def _serve(self, engine: BaseEngine, services: Services, port: int) -> None:
        runners = [self._runner(name, source, services) for name, source in self._sources.items()]
        work = AgentWork(runners)
        self._work = _Counted(work)
        options = self._options
        name = options.name or f"{socket.gethostname()}-{os.getpid()}"
        self._worker = engine.worker(self._work, work.queues, concurrency=options.concurrency, name=name)
        self._readiness = readiness = WorkerReadiness(engine, [runner.session_service for runner in runners])
        if (fault := await readiness.look()) is not None:
            raise ConfigurationError(fault)
        await self._worker.start()
        self._is_ready = True
        say(f"ready: {', '.join(self._sources)}; http://127.0.0.1:{port}/metrics")
        await self._signalled.wait()
        await self._worker.drain(options.drain if self._signals == 1 else 0)
        for runner in runners:
            await runner.close()

    def _services(self) -> Services:
        store = open_store(self._composition, self._options.sessions)
        return open_services(self._composition, None, store, None, None, None)

    def _runner(self, name: str, source: AgentSource, services: Services) -> Runner:
        """The runner of an app, whose own stores go first, but for --sessions."""
        own = store_of(source) if self._options.sessions is None else None
        stores: dict[str, Any] = {"session_service": own or services.session}
        for kind in ("artifact", "memory", "credential"):
            stores[f"{kind}_service"] = getattr(source.app, f"{kind}_service", None) or getattr(services, kind)
        return Runner(
            app=source.app,
            app_name=name,
            node=None if source.app is not None else source.agent,
            composition=self._composition,
            **stores,
        )

    def _told(self, sig: int) -> None:
        """The first signal: take no more. The second one: leave what is under way to others."""
        self._signals += 1
        self._signalled.set()
        if self._signals == 1:
            _end_within(self._options.drain + _END_SECONDS, sig)
        elif self._worker is not None and self._work is not None:
            _end_within(_END_SECONDS, sig)
            for key in self._worker.running:
                self._work.release(key)

    async def _healthz(self) -> Answer:
        return 200, PLAIN, "ok\n"

    async def _readyz(self) -> Answer:
        if self._signals:
            return 503, PLAIN, "draining\n"
        if self._readiness is None or not self._is_ready:
            return 503, PLAIN, "starting\n"
        fault = await self._readiness.look()
        return (200, PLAIN, "ready\n") if fault is None else (503, PLAIN, f"{fault}\n")

    async def _metrics(self) -> Answer:
        running = Tally(key.partition(":")[0] for key in (self._worker.running if self._worker is not None else ()))
        text = METRICS.text({name: (running[name], 0) for name in self._sources})
        return 200, PLAIN, text + "".join(f"{line}\n" for line in self._outcomes())

    def _outcomes(self) -> Iterator[str]:
        if self._work is not None:
            counter = self._work.outcomes
            yield from family(counter.kind, counter.name, counter.text, counter.lines())


class _Counted:
    """Work whose outcomes are counted."""

    def __init__(self, work: AgentWork) -> None:
        self._work = work
        self.outcomes = Counter("newel_worker_outcomes_total", "How the worker has left runs.", "app", "outcome")

    async def __call__(self, spec: InvocationSpec, stepping: Stepping | None = None) -> Outcome:
        outcome = "broken"
        try:
            left = await self._work(spec, stepping)
            outcome = str(left.state)
            return left
        except PostponedError:
            outcome = "postponed"
            raise
        finally:
            self.outcomes.add(1, spec.app_name, outcome)

    async def close(self, spec: InvocationSpec) -> Outcome:
        return await self._work.close(spec)

    def release(self, key: str) -> None:
        self._work.release(key)


def _end_within(seconds: float, sig: int) -> None:
    """End the process even if an agent blocks the loop, or a thread of a tool never returns."""
    timer = threading.Timer(seconds, _end_now, (128 + sig,))
    timer.daemon = True
    timer.start()


def _end_now(status: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader has closed it
            stream.flush()
    os._exit(status)
