"""A credential that answers a submitted run: its worker gets it, and nobody reads it in the log."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest
from cryptography.fernet import Fernet

from newel import Agent, Runner
from newel.auth import AuthConfig, AuthCredential, pending
from newel.auth.auth_schemes import APIKey
from newel.auth.credential_service.base_credential_service import BaseCredentialService
from newel.auth.credential_service.encrypted_file_credential_service import EncryptedFileCredentialService
from newel.auth.credential_service.in_memory_credential_service import InMemoryCredentialService
from newel.engines import AgentWork, AnsweredBeforeError, InlineEngine, RunState, SpecRefusedError, SubmittedRun
from newel.questions.given_answers import message_of, open_in
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import AuthenticatedFunctionTool
from newel_types import Content, FunctionCall

KEY = "hunter2-hunter2"


class Elsewhere(InlineEngine):
    """An engine whose workers are other processes, as far as a submitter knows."""

    in_process: ClassVar[bool] = False


class Place:
    """A store, an engine, and runners of one app, each with the credential service that its process would have."""

    def __init__(self, engine: InlineEngine, credentials: list[BaseCredentialService | None]) -> None:
        self.store, self.engine = InMemorySessionService(), engine
        self.seen: list[str | None] = []

        def look(credential: AuthCredential) -> str:
            """Look out of the window."""
            self.seen.append(credential.api_key)
            return "rain"

        key = AuthConfig(auth_scheme=APIKey(in_="header", name="X-Key"), credential_key="weather")
        model = ScriptedModel([FunctionCall(name="look", args={}), "It rains."])
        agent = Agent(name="shop", model=model, tools=[AuthenticatedFunctionTool(look, auth_config=key)])
        self.here, self.there = (
            Runner(
                app_name="shop",
                agent=agent,
                session_service=self.store,
                credential_service=service,
                engine=engine,
                auto_create_session=True,
            )
            for service in (credentials * 2)[:2]
        )

    async def asked(self) -> SubmittedRun:
        """A run that waits for a credential, of a worker that is elsewhere."""
        work = AgentWork([self.there])
        await self.engine.worker(work, work.queues).start()
        run = await self.here.submit(user_id="ann", session_id="s", new_message="hi")
        while (await run.record()).state is not RunState.PAUSED:
            await asyncio.sleep(0.01)
        return run

    async def answer(self, key: str) -> Content:
        """The message that answers."""
        session = await self.store.get_session(app_name="shop", user_id="ann", session_id="s")
        assert session is not None
        (question,) = open_in(session.events)
        return message_of([(question, {"authType": "apiKey", "apiKey": key})])

    async def submit(self, message: Content) -> SubmittedRun:
        return await self.here.submit(user_id="ann", session_id="s", new_message=message)

    async def log(self) -> str:
        session = await self.store.get_session(app_name="shop", user_id="ann", session_id="s")
        assert session is not None
        return str(session.events)


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept in this process, as if each runner had one of its own."""
    monkeypatch.setattr(pending, "MOST", 0)
    monkeypatch.setenv("NEWEL_CREDENTIALS_KEY", Fernet.generate_key().decode())


@pytest.mark.usefixtures("apart")
def test_a_worker_elsewhere_finds_it_in_the_credential_service(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "credentials"
        place = Place(Elsewhere(), [EncryptedFileCredentialService(path), EncryptedFileCredentialService(path)])
        await place.asked()
        run = await place.submit(await place.answer(KEY))
        last = await run.wait()
        assert last is not None
        assert (last.text, place.seen) == ("It rains.", [KEY])
        assert KEY not in await place.log()

    asyncio.run(main())


def test_the_engine_of_this_process_needs_no_service() -> None:
    async def main() -> None:
        place = Place(InlineEngine(), [None])
        await place.asked()
        last = await (await place.submit(await place.answer(KEY))).wait()
        assert last is not None
        assert (last.text, place.seen) == ("It rains.", [KEY])
        assert KEY not in await place.log()

    asyncio.run(main())


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("service", [None, InMemoryCredentialService()])
def test_without_a_service_in_common_it_is_refused(service: BaseCredentialService | None) -> None:
    async def main() -> None:
        place = Place(Elsewhere(), [service])
        await place.asked()
        message = await place.answer(KEY)
        with pytest.raises(SpecRefusedError, match="no credential service in common"):
            await place.submit(message)
        assert KEY not in await place.log()

    asyncio.run(main())


@pytest.mark.usefixtures("apart")
def test_of_two_answers_the_first_ones_key_is_used(tmp_path: Path) -> None:
    async def main() -> None:
        place = Place(Elsewhere(), [EncryptedFileCredentialService(tmp_path / "credentials")])
        await place.asked()
        message, other = await place.answer(KEY), await place.answer("another-key")
        both = await asyncio.gather(place.submit(message), place.submit(other), return_exceptions=True)
        first = 0 if isinstance(both[0], SubmittedRun) else 1
        run = both[first]
        assert isinstance(run, SubmittedRun)
        assert isinstance(both[1 - first], AnsweredBeforeError)
        await run.wait()
        assert place.seen == [(KEY, "another-key")[first]]

    asyncio.run(main())


def test_a_message_that_steers_has_no_key_in_the_log() -> None:
    async def main() -> None:
        place = Place(InlineEngine(), [None])
        await place.asked()
        message = await place.answer(KEY)
        async for _ in place.here.steer(user_id="ann", session_id="s", new_message=message):
            pass
        assert KEY not in await place.log()

    asyncio.run(main())
