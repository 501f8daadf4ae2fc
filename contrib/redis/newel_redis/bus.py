"""Bus: other processes follow a run, its partial events included.

A run publishes its partial events, which no store has, each with the number of events stored before it. It announces
other events before they are stored. A follower reads stored events from the store, so that Redis never has the only
copy of an event: without Redis it misses nothing but partial events.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import nullcontext, suppress
from hashlib import blake2b
from typing import NamedTuple, Protocol

from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from newel.connections import PerLoop
from newel.plugins import BasePlugin
from newel.sessions.watching import Watch, watched
from newel_kernel import BaseSessionService, ConfigurationError, Event, InvocationContext, hookimpl, seam
from newel_redis.address import read_address
from newel_redis.client import FAILURES, REST, client_of

#: The most messages that wait for Redis; the oldest are dropped first.
_WAITING = 1000
#: How many digits a number of events has at most.
_DIGITS = 18
#: While partial events come, the store is looked at this many times later.
_TIMES_AS_LATE = 10
#: How soon an event that was announced is looked for in the store, in seconds; the wait doubles each time.
_SOON = 0.005
#: The longest of these waits, in seconds.
_LATEST = 0.5
#: How long a message may take that was sent before a change of the session, in seconds.
_ON_ITS_WAY = 0.05
#: How long a connection is listened to before it is seen to that its server still answers, in seconds.
_CHECKED = 1.0


class TailStore(Protocol):
    """A store that gives the committed events of a session after the first `after`; every store of newel does."""

    async def tail(self, *, app_name: str, user_id: str, session_id: str, after: int) -> list[Event]:
        """The events; an empty list if the session does not exist."""


class Bus:
    """A bus in the Redis at `url`: its channels begin with `prefix`, and no call waits longer than `patience` seconds.

    Events in it are not encrypted; a channel's name reveals nothing about its session.
    """

    def __init__(self, url: str = "redis://127.0.0.1:6379/0", *, prefix: str = "newel", patience: float = 1.0) -> None:
        if not patience > 0:
            raise ConfigurationError(f"patience={patience:g}: give some seconds to wait for Redis")
        self._url = url
        self._prefix = prefix
        self.patience = patience
        self.client()  # reports an invalid URL now

    @classmethod
    def opened(cls, uri: str) -> Bus:
        """The bus of ``redis://host:6379?prefix=shop&patience=1``."""
        url, prefix, seconds = read_address(uri, "the bus", 1.0)
        return cls(url, prefix=prefix, patience=seconds)

    def publisher(self) -> Publisher:
        """A plugin that sends the events of runs to the bus."""
        return Publisher(self)

    def client(self) -> Redis:
        """A client for the running event loop."""
        return client_of(self._url, self.patience, watched=True)

    def channel(self, app_name: str, user_id: str, session_id: str) -> str:
        """The channel of a session."""
        names = json.dumps([app_name, user_id, session_id]).encode()
        return f"{self._prefix}:bus:{blake2b(names, digest_size=16).hexdigest()}"

    async def follow(
        self, store: TailStore, *, app_name: str, user_id: str, session_id: str, after: int = 0, every: float = 1.0
    ) -> AsyncGenerator[Event, None]:
        """The events of a session, without end: those stored after the first `after`, and partial ones between them.

        Stored events come once each, in their order, and also without Redis: the store is looked at when it says that
        the session has changed (see `newel.sessions.contract.WatchedSessions`), when nothing has come for `every`
        seconds, and after ten times as long in any case. A partial event comes between what was stored
        before and after it, or not at all.
        """
        if not every > 0:
            raise ConfigurationError(f"every={every:g}: give the seconds after which the store is looked at anyway")
        where = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        tail = _Tail(store, where, after)
        watch = watched(store, **where) if isinstance(store, BaseSessionService) else nullcontext(Watch())
        async with watch as changes, _Listener(self, self.channel(**where)) as listener:
            await listener.begin()
            async with _News(listener, changes) as news:
                quiet = latest = due = 0.0  # when to look at the store: whichever is first
                while True:
                    now = time.monotonic()
                    data = await news.next(min(quiet, latest, due) - now) if now < latest else None
                    message = _Message.read(data) if data is not None else None
                    if message is None:
                        now = time.monotonic()
                        if news.take_change() and await tail.has_more():
                            due = min(due, now + listener.lag)  # what was published before comes first
                        if now < min(quiet, latest, due):
                            continue
                        quiet, latest, due = now + every, now + every * _TIMES_AS_LATE, math.inf
                    before = tail.after
                    async for event in tail.up_to(message.stored if message is not None else None, every, news):
                        yield event
                    fits = message is not None and message.stored == tail.after
                    if message is not None and message.partial is not None and fits:
                        yield message.partial
                    if fits or tail.after > before:  # a look now might overtake messages that still wait
                        quiet = time.monotonic() + every


class Publisher(BasePlugin):
    """Sends the events of a run to the bus, in the background; no run waits for Redis or fails with it.

    It is asked after all other plugins: an event that another plugin changes is not sent in its original form.
    """

    def __init__(self, bus: Bus, name: str = "redis_bus") -> None:
        super().__init__(name)
        self._bus = bus
        self._senders = PerLoop(lambda: _Sender(bus), _Sender.close, patience=2 * bus.patience + 5)

    @hookimpl(trylast=True)
    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        """Send a partial event whole, and announce any other event; skip the media of a live session."""
        session = invocation_context.session
        if invocation_context.mode is not None and not invocation_context.mode.stores(event):
            return None
        count = len(session.events)
        message = _Message(count, event) if event.partial else _Message(count + 1, None)
        self._senders.get().send(self._bus.channel(session.app_name, session.user_id, session.id), message)
        return None

    async def close(self) -> None:
        """Send what waits, and disconnect."""
        await self._senders.close()


class _Sender:
    """The messages that wait for Redis in one event loop."""

    def __init__(self, bus: Bus) -> None:
        self._client = bus.client()
        self._patience = bus.patience
        self._waiting: deque[tuple[str, bytes]] = deque(maxlen=_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._off_until = 0.0

    def send(self, channel: str, message: _Message) -> None:
        if time.monotonic() < self._off_until:
            return
        try:
            self._waiting.append((channel, message.written()))
        except (ValueError, TypeError, RecursionError):  # not JSON; in a partial event that is not an error
            return
        if self._task is None or self._task.done():
            self._task = seam.spawn(self._sent())

    async def _sent(self) -> None:
        while self._waiting:
            batch, pipeline = list(self._waiting), self._client.pipeline(transaction=False)
            self._waiting.clear()
            for channel, message in batch:
                pipeline.publish(channel, message)
            try:
                async with asyncio.timeout(self._patience):
                    await pipeline.execute()
            except FAILURES:
                self._off_until = time.monotonic() + REST
                self._waiting.clear()

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self._client.aclose()


class _Listener:
    """A subscription that is renewed when it breaks; until then no messages come."""

    def __init__(self, bus: Bus, channel: str) -> None:
        self._bus = bus
        self._channel = channel
        self._client = bus.client()
        self._subscription: PubSub | None = None
        self._again = 0.0
        #: How long the next subscription waits if this one breaks before a message has come; it doubles each time.
        self._pause = _SOON

    async def __aenter__(self) -> _Listener:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._drop()
        finally:
            with suppress(*FAILURES):
                await self._client.aclose()

    @property
    def lag(self) -> float:
        """How much later than a change of the session a message may come that was sent before it, in seconds."""
        hears = self._subscription is not None or time.monotonic() >= self._again
        return _ON_ITS_WAY if hears else 0.0

    async def begin(self) -> None:
        """Subscribe, if Redis answers."""
        subscription = self._client.pubsub(ignore_subscribe_messages=True)
        try:
            async with asyncio.timeout(self._bus.patience):
                await subscription.subscribe(self._channel)
        except FAILURES:
            self._again = time.monotonic() + REST
            await _closed(subscription)
        else:
            self._subscription = subscription

    async def next(self) -> bytes:
        """The next message, however long it takes."""
        while True:
            if self._subscription is None and time.monotonic() >= self._again:
                await self.begin()
            if self._subscription is None:
                await asyncio.sleep(max(self._again - time.monotonic(), 0.01))
                continue
            try:
                message = await self._subscription.get_message(timeout=_CHECKED)
            except FAILURES:
                await self._drop()
                continue
            if message is not None and isinstance(data := message.get("data"), bytes):
                self._pause = _SOON
                return data

    async def _drop(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            self._again = time.monotonic() + self._pause
            self._pause = min(self._pause * 2, REST)
            await _closed(subscription)


async def _closed(subscription: PubSub) -> None:
    with suppress(*FAILURES):
        await subscription.aclose()  # type: ignore[no-untyped-call]


class _News:
    """What a follower waits for: the next message, and the next change of the session."""

    def __init__(self, listener: _Listener, watch: Watch) -> None:
        self._listener = listener
        self._watch = watch
        self._message: asyncio.Task[bytes] | None = None
        self._change: asyncio.Task[None] | None = None

    async def __aenter__(self) -> _News:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in (self._message, self._change):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def next(self, seconds: float) -> bytes | None:
        """The next message; None if none comes within `seconds`, or until it is time to look at the store."""
        message = self._message = self._message or seam.spawn(self._listener.next())
        await asyncio.wait([message, self._changing()], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not message.done():
            return None
        self._message = None
        return message.result()

    async def change(self, seconds: float) -> None:
        """Wait for the next change, for at most `seconds`."""
        await asyncio.wait([self._changing()], timeout=seconds)
        self.take_change()

    def take_change(self) -> bool:
        """Whether it is time to look at the store, as the session may have changed."""
        if self._change is None or not self._change.done():
            return False
        self._change.result()
        self._change = None
        return True

    def _changing(self) -> asyncio.Task[None]:
        self._change = self._change or seam.spawn(self._watch.wait())
        return self._change


class _Tail:
    """The stored events of a session, read one after another."""

    def __init__(self, store: TailStore, where: dict[str, str], after: int) -> None:
        self._store = store
        self._where = where
        #: How many events have been given, and those after them that have been read.
        self.after = after
        self._read: deque[Event] = deque()

    async def has_more(self) -> bool:
        """Whether the store has events that were not given."""
        if not self._read:
            self._read = deque(await self._store.tail(**self._where, after=self.after))
        return bool(self._read)

    async def up_to(self, count: int | None, seconds: float, news: _News) -> AsyncIterator[Event]:
        """The events not given yet, up to the first `count` (None: all), waiting at most `seconds` for them."""
        end, pause = time.monotonic() + seconds, _SOON
        while count is None or self.after < count:
            while (count is None or self.after < count) and await self.has_more():
                self.after += 1
                yield self._read.popleft()
            if count is None or self.after >= count or time.monotonic() > end:
                return
            await news.change(min(pause, _LATEST))
            pause *= 2


class _Message(NamedTuple):
    """A message: a partial event and how many events are stored before it, or how many will soon be stored."""

    stored: int
    partial: Event | None

    def written(self) -> bytes:
        """The message in the form in which it is sent."""
        return b"%d " % self.stored + (self.partial.model_dump_json(exclude_none=True) if self.partial else "").encode()

    @classmethod
    def read(cls, data: bytes) -> _Message | None:
        """The message; None if the data is not a message, since anybody may publish."""
        count, _, text = data.partition(b" ")
        if not count.isdigit() or len(count) > _DIGITS:
            return None
        try:
            event = Event.model_validate_json(text) if text else None
        except ValueError:
            return None
        return cls(int(count), event) if event is None or event.partial else None
