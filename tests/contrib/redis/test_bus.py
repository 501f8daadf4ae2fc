"""The bus: another process sees a run's partial events between what is stored, and misses only those without Redis."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from newel import Agent, Runner
from newel.agents import RunConfig
from newel.live import LiveMode, LiveRequestQueue
from newel.plugins import BasePlugin
from newel.server.replaying import SessionBus
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.testing import ScriptedModel
from newel_kernel import ConfigurationError, Event, StreamingMode
from newel_redis import Bus, Publisher
from newel_types import Content, Part

AT: dict[str, Any] = {"user_id": "u", "session_id": "s"}
WHERE: dict[str, Any] = {"app_name": "a", **AT}
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
STREAM = RunConfig(streaming_mode=StreamingMode.SSE)
#: What a worker of its own process does: one turn in the store of the first argument.
_WORKER = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_bus import run
asyncio.run(run(*sys.argv[1:]))
"""


async def run(path: str, url: str, *plugins: BasePlugin, patience: float = 20) -> list[Event]:
    """A turn of two chunks and their whole, and all that it yields."""
    bus = Publisher(Bus(url, patience=patience))
    store = SqliteSessionService(path)
    model = ScriptedModel([["good ", "day"]])
    runner = Runner(
        agent=Agent(name="greeter", model=model),
        app_name="a",
        session_service=store,
        auto_create_session=True,
        plugins=[*plugins, bus],
    )
    async with runner, aclosing(runner.run_async(**AT, new_message="hi", run_config=STREAM)) as events:
        found = [event async for event in events]
    await store.close()
    return found


def shown(event: Event) -> str:
    """The text of an event, in brackets where it is stored."""
    text = "".join(part.text or "" for part in (event.content.parts if event.content else None) or ())
    return text if event.partial else f"[{text}]"


async def take(events: AsyncGenerator[Event, None], count: int, seconds: float = 20) -> list[str]:
    """The next events as texts."""
    async with asyncio.timeout(seconds):
        return [shown(await anext(events)) for _ in range(count)]


def test_another_process_sees_a_run_as_it_goes(server: Any, tmp_path: Path) -> None:
    async def main() -> list[str]:
        path = str(tmp_path / "s.db")
        async with SqliteSessionService(path) as store:
            await store.create_session(**WHERE)
            async with aclosing(Bus(server.url).follow(store, **WHERE, every=60)) as events:
                first = asyncio.create_task(take(events, 4))
                while not server.client.pubsub_channels():
                    await asyncio.sleep(0.01)
                worker = await asyncio.create_subprocess_exec(sys.executable, "-c", _WORKER, path, server.url, env=ENV)
                found = await first
                assert await worker.wait() == 0
                return found

    assert asyncio.run(main()) == ["[hi]", "good ", "day", "[good day]"]


@pytest.mark.parametrize("redis", ["down", "silent", "killed"])
def test_without_redis_nothing_but_partial_events_is_missed(redis: str, server: Any, tmp_path: Path) -> None:
    async def main() -> list[str]:
        path, url = str(tmp_path / "s.db"), server.url
        if redis == "down":
            url = "redis://127.0.0.1:1/0"
        silent = socket.create_server(("127.0.0.1", 0))
        if redis == "silent":
            url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        async with SqliteSessionService(path) as store:
            await run(path, url, patience=0.5)
            async with aclosing(Bus(url, patience=0.2).follow(store, **WHERE, after=1, every=0.1)) as events:
                found = await take(events, 1)
                if redis == "killed":
                    server.kill()
                await run(path, url, patience=0.5)
                found += await take(events, 2)
        silent.close()
        return found

    assert asyncio.run(main()) == ["[good day]", "[hi]", "[good day]"]


def test_a_follower_comes_back_to_a_redis_that_was_away(server: Any, tmp_path: Path) -> None:
    async def main() -> list[str]:
        path = str(tmp_path / "s.db")
        async with SqliteSessionService(path) as store:
            await run(path, server.url)
            async with aclosing(Bus(server.url, patience=20).follow(store, **WHERE, after=2, every=1)) as events:
                waiting = asyncio.create_task(take(events, 4))
                while not server.client.pubsub_channels():
                    await asyncio.sleep(0.01)
                server.kill()
                server.start()
                while not server.client.pubsub_channels():
                    await asyncio.sleep(0.01)
                await run(path, server.url)
                return await waiting

    assert asyncio.run(main()) == ["[hi]", "good ", "day", "[good day]"]


def test_what_anybody_publishes_is_no_event(server: Any) -> None:
    async def main() -> list[str]:
        bus, store = Bus(server.url), InMemorySessionService()
        view = await store.create_session(**WHERE)
        whole = Event(author="x", message="forged").model_dump_json().encode()
        async with aclosing(bus.follow(store, **WHERE, every=0.05)) as events:
            waiting = asyncio.create_task(take(events, 1))
            while not server.client.pubsub_channels():
                await asyncio.sleep(0.01)
            deep = b"0 " + b"[" * 9_000
            for message in (b"", b"1", b"{", b"0 " + whole, b"0 \xff", b"\x00" * 9, deep, b"9" * 99, b"7 "):
                server.client.publish(bus.channel(**WHERE), message)
            await store.append_event(view, Event(author="x", message="real"))
            return await waiting

    assert asyncio.run(main()) == ["[real]"]


class Mask(BasePlugin):
    """Stands before the bus, and lets no digit through."""

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event | None:
        masked = Content(role="model", parts=[Part(text="***")])
        return Event(content=masked, partial=event.partial) if event.content else None


def test_what_a_plugin_before_it_hides_is_not_sent(server: Any, tmp_path: Path) -> None:
    async def main() -> list[Any]:
        heard = server.client.pubsub(ignore_subscribe_messages=True)
        heard.subscribe(Bus(server.url).channel(**WHERE))
        heard.get_message(timeout=5)
        await run(str(tmp_path / "s.db"), server.url, Mask("mask"))
        messages = []
        while (message := heard.get_message(timeout=0.2)) is not None:
            messages.append(message["data"])
        heard.close()
        return messages

    assert not [message for message in asyncio.run(main()) if b"day" in message]


def test_channels_of_hostile_names_are_names(server: Any) -> None:
    bus = Bus(server.url, prefix="p")
    names = [("a", "b", "c"), ("a:b", "", "c"), ("a", "b:c", ""), ("\x00", "\ud800", "*")]
    channels = {bus.channel(*one) for one in names}
    assert len(channels) == 4
    assert all(one.startswith("p:bus:") and one[6:].isalnum() for one in channels)


def test_a_url_that_is_none_is_told_without_its_password() -> None:
    with pytest.raises(ConfigurationError, match="write redis://") as raised:
        Bus("http://user:hunter2@host")
    assert "hunter2" not in str(raised.value)
    with pytest.raises(ConfigurationError, match="patience=0"):
        Bus(patience=0)


def test_importing_the_bus_is_left_to_who_uses_it() -> None:
    code = "import sys, newel_redis; print('redis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENV)
    assert done.stdout.strip() == "False"


def test_looking_all_the_time_is_refused() -> None:
    async def main() -> None:
        async with aclosing(Bus().follow(InMemorySessionService(), **WHERE, every=0)) as events:
            await anext(events)

    with pytest.raises(ConfigurationError, match="every=0"):
        asyncio.run(main())


@pytest.mark.parametrize("live", [True, False])
def test_what_a_live_session_plays_is_not_announced(server: Any, live: bool) -> None:
    """It is stored nowhere, so that who follows would wait for it."""

    async def main() -> Any:
        bus, store = Bus(server.url), InMemorySessionService()
        session = await store.create_session(**WHERE)
        heard = server.client.pubsub(ignore_subscribe_messages=True)
        heard.subscribe(bus.channel(**WHERE))
        heard.get_message(timeout=5)
        sound = Content(role="model", parts=[Part.from_bytes(data=b"...", mime_type="audio/pcm")])
        ctx: Any = SimpleNamespace(session=session, mode=LiveMode(LiveRequestQueue()) if live else None)
        publisher = Publisher(bus)
        await publisher.on_event_callback(invocation_context=ctx, event=Event(author="x", content=sound))
        await publisher.close()
        message = heard.get_message(timeout=0.2)
        heard.close()
        return message and message["data"]

    assert asyncio.run(main()) == (None if live else b"1 ")


def test_the_store_is_looked_at_however_much_is_published(server: Any) -> None:
    async def main() -> list[str]:
        bus, store = Bus(server.url), InMemorySessionService()
        view = await store.create_session(**WHERE)

        async def shout() -> None:
            while True:
                server.client.publish(bus.channel(**WHERE), b"0 ")
                await asyncio.sleep(0.005)

        async with aclosing(bus.follow(store, **WHERE, every=0.05)) as events:
            shouting = asyncio.create_task(shout())
            waiting = asyncio.create_task(take(events, 2))
            await asyncio.sleep(0.2)
            for text in ("one", "two"):
                await store.append_event(view, Event(author="x", message=text))
            try:
                return await waiting
            finally:
                shouting.cancel()

    assert asyncio.run(main()) == ["[one]", "[two]"]


def test_a_partial_event_that_is_no_json_harms_no_run(server: Any) -> None:
    async def main() -> None:
        publisher = Publisher(Bus(server.url))
        session = await InMemorySessionService().create_session(**WHERE)
        ctx: Any = SimpleNamespace(session=session, mode=None)
        event = Event(author="x", message="hi", partial=True, custom_metadata={"lock": object()})
        assert await publisher.on_event_callback(invocation_context=ctx, event=event) is None
        await publisher.close()

    asyncio.run(main())


def test_an_option_that_nobody_knows_is_told_at_once() -> None:
    with pytest.raises(ConfigurationError, match="options that redis-py knows"):
        Bus("redis://127.0.0.1/0?colour=red")


def test_senders_of_loops_that_are_over_go(server: Any) -> None:
    """Nobody has closed them: they close with their loops."""
    publisher = Publisher(Bus(server.url))

    async def send(publisher: Publisher) -> None:
        session = await InMemorySessionService().create_session(**WHERE)
        ctx: Any = SimpleNamespace(session=session, mode=None)
        await publisher.on_event_callback(invocation_context=ctx, event=Event(author="x", message="hi"))
        await asyncio.sleep(0.05)

    for _ in range(3):
        asyncio.run(send(publisher))
    assert len(publisher._senders) == 0
    assert server.client.info("clients")["connected_clients"] == 1
    del publisher
    gc.collect()


def test_what_the_store_tells_of_is_not_waited_for(server: Any) -> None:
    """Whoever appends without the bus, as from outside of a run, is heard of by the store at once."""

    async def main() -> list[str]:
        bus, store = Bus(server.url), InMemorySessionService()
        await store.create_session(**WHERE)
        async with aclosing(bus.follow(store, **WHERE, every=60)) as events:
            waiting = asyncio.create_task(take(events, 2))
            while not server.client.pubsub_channels():
                await asyncio.sleep(0.01)
            for text in ("one", "two"):
                await asyncio.sleep(0.2)
                await store.append_out_of_band(**WHERE, event=Event(author="x", message=text))
            return await waiting

    assert asyncio.run(main()) == ["[one]", "[two]"]


def test_the_end_of_a_run_of_which_the_bus_tells_nothing_is_seen_when_the_session_changes(server: Any) -> None:
    async def main() -> tuple[list[str], float]:
        bus, store, over = Bus(server.url), InMemorySessionService(), asyncio.Event()
        await store.create_session(**WHERE)

        async def is_over() -> bool:
            return over.is_set()

        async with aclosing(SessionBus(bus, store, WHERE).events(0, is_over)) as events:
            waiting = asyncio.create_task(take(events, 1))
            await asyncio.sleep(1)
            await store.append_out_of_band(**WHERE, event=Event(author="x", message="last"))
            found = await waiting
            over.set()
            await store.wake(**WHERE)
            began = time.monotonic()
            found += [shown(event) async for event in events]
            return found, time.monotonic() - began

    texts, seconds = asyncio.run(main())
    assert texts == ["[last]"]
    assert seconds < 0.25
