"""A credential is renewed once, whoever asks: tasks, loops in threads, processes, the killed and the cancelled."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from newel.agents import Context, InvocationContext
from newel.auth import AuthConfig, AuthCredential, CredentialManager, OAuth2Auth
from newel.auth.auth_schemes import HTTPBearer
from newel.auth.completion import in_thread
from newel.auth.credential_service import EncryptedFileCredentialService, InMemoryCredentialService, renewal
from newel.auth.errors import CredentialRefresherError, RenewalWaitError
from newel.auth.refresher import BaseCredentialRefresher
from newel_compose import compose_once
from newel_kernel import RunConfig, Session

CONFIG = AuthConfig(auth_scheme=HTTPBearer(), credential_key="calendar")


def credential(access: str, refresh: str, lasts: float = 3600) -> AuthCredential:
    oauth2 = OAuth2Auth(access_token=access, refresh_token=refresh, expires_at=int(time.time() + lasts))
    return AuthCredential(auth_type="oauth2", oauth2=oauth2)


def context(store: Any) -> Any:
    agent: Any = type("Agent", (), {"name": "root"})()
    session = Session(id="s", app_name="app", user_id="ann")
    composed = compose_once("standard")
    ctx = InvocationContext(None, session, agent, composed, RunConfig(), credential_service=store)  # type: ignore[arg-type]
    return Context(ctx, function_call_id="c1")


class Provider(BaseCredentialRefresher):
    """A provider that rotates: a file has a line for each refresh token it was sent; only `r0` is worth something."""

    def __init__(self, log: Path, seconds: float = 0.2, code: str | None = "invalid_grant") -> None:
        self.log, self.seconds, self.code = log, seconds, code

    async def is_refresh_needed(self, auth_credential: Any, auth_scheme: Any = None) -> bool:
        return bool(auth_credential.oauth2.expires_at < time.time() + 60)

    async def refresh(self, auth_credential: Any, auth_scheme: Any = None) -> AuthCredential:
        with self.log.open("a") as file:
            file.write(f"{auth_credential.oauth2.refresh_token}\n")
        spent = self.sent.count("r0") > 1
        await asyncio.sleep(self.seconds)
        if spent:
            raise CredentialRefresherError("refused", self.code)
        return credential("a1", "r1")

    @property
    def sent(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []


def save(store: Any, value: AuthCredential | None) -> None:
    saved = CONFIG.model_copy(update={"exchanged_auth_credential": value})
    asyncio.run(store.save_credential(saved, context(store)))


async def load(store: Any) -> Any:
    found = await store.load_credential(CONFIG, context(store))
    return found and found.oauth2.access_token


async def get(store: Any, provider: Any, asker: Any = None) -> str | None:
    manager = CredentialManager(CONFIG)
    manager.register_credential_refresher("oauth2", provider)  # type: ignore[arg-type]
    found = await manager.get_auth_credential(asker or context(store))
    return found.oauth2.access_token if found and found.oauth2 else None


def open_file(folder: Path) -> EncryptedFileCredentialService:
    return EncryptedFileCredentialService(folder / "c", key=f"file:{folder}/k")


@pytest.fixture(params=["memory", "file"])
def store(request: Any, tmp_path: Path) -> Any:
    made: Any = InMemoryCredentialService() if request.param == "memory" else open_file(tmp_path)
    save(made, credential("a0", "r0", lasts=-5))
    return made


def test_loops_in_threads_renew_once(store: Any, tmp_path: Path) -> None:
    provider, found = Provider(tmp_path / "log"), []
    threads = [threading.Thread(target=lambda: found.append(asyncio.run(get(store, provider)))) for _ in range(5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (found, provider.sent) == (["a1"] * 5, ["r0"])


ASKER = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {here!r})
import test_renewal_once as t
folder = Path({folder!r})
print(asyncio.run(t.get(t.open_file(folder), t.Provider(folder / "log", float(sys.argv[1])))))
"""


def ask(folder: Path, seconds: float) -> subprocess.Popen[str]:
    code = ASKER.format(here=str(Path(__file__).parent), folder=str(folder))
    return subprocess.Popen([sys.executable, "-c", code, str(seconds)], stdout=subprocess.PIPE, text=True)


def test_processes_renew_once(tmp_path: Path) -> None:
    store = open_file(tmp_path)
    save(store, credential("a0", "r0", lasts=-5))
    found = [one.communicate()[0].strip() for one in [ask(tmp_path, 1.5) for _ in range(3)]]
    assert (found, Provider(tmp_path / "log").sent) == (["a1"] * 3, ["r0"])
    assert asyncio.run(load(store)) == "a1"


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_an_owner_that_is_killed_blocks_nobody(tmp_path: Path) -> None:
    store, provider = open_file(tmp_path), Provider(tmp_path / "log", 0)
    save(store, credential("a0", "r0", lasts=-5))
    owner = ask(tmp_path, 60)
    while not provider.sent and owner.poll() is None:
        time.sleep(0.02)
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    save(store, credential("a0", "r9", lasts=-5))  # the user has consented again
    began = time.monotonic()
    assert asyncio.run(get(store, provider)) == "a1"
    assert time.monotonic() - began < 30
    assert provider.sent == ["r0", "r9"]


def test_a_copy_of_this_invocation_is_not_renewed_after_the_store_s(store: Any, tmp_path: Path) -> None:
    class Due(Provider):
        due = False

        async def is_refresh_needed(self, auth_credential: Any, auth_scheme: Any = None) -> bool:
            return self.due and auth_credential.oauth2.access_token == "a0"

    provider, asker = Due(tmp_path / "log", 0), context(store)

    async def go() -> list[str | None]:
        await store.save_credential(with_(credential("a0", "r0")), asker)
        first = await get(store, provider, asker)
        await store.save_credential(with_(credential("a7", "r7")), asker)  # another process has renewed it
        provider.due = True
        return [first, await get(store, provider, asker)]

    assert asyncio.run(go()) == ["a0", "a7"]
    assert provider.sent == []


def with_(value: AuthCredential) -> AuthConfig:
    return CONFIG.model_copy(update={"exchanged_auth_credential": value})


def test_a_loser_does_not_delete_what_the_winner_has_saved(store: Any, tmp_path: Path) -> None:
    class Loses(Provider):
        async def refresh(self, auth_credential: Any, auth_scheme: Any = None) -> AuthCredential:
            await store.save_credential(with_(credential("a7", "r7")), context(store))  # someone without the right
            raise CredentialRefresherError("refused", "invalid_grant")

    assert asyncio.run(get(store, Loses(tmp_path / "log"))) == "a7"
    assert asyncio.run(load(store)) == "a7"


def test_a_renewal_that_fails_for_one_is_tried_by_the_next(store: Any, tmp_path: Path) -> None:
    class Fails(Provider):
        async def refresh(self, auth_credential: Any, auth_scheme: Any = None) -> AuthCredential:
            await asyncio.sleep(0.05)
            raise CredentialRefresherError("the server is busy")

    async def go() -> list[Any]:
        first = asyncio.create_task(get(store, Fails(tmp_path / "log")))
        await asyncio.sleep(0.02)
        return await asyncio.gather(first, get(store, Provider(tmp_path / "log", 0)), return_exceptions=True)

    failed, found = asyncio.run(go())
    assert (type(failed), found) == (CredentialRefresherError, "a1")


def test_a_cancelled_renewal_is_saved_all_the_same(store: Any, tmp_path: Path) -> None:
    provider = Provider(tmp_path / "log", 4)

    async def go() -> str | None:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(get(store, provider), 0.1)
        assert time.monotonic() - began < 3.5  # cancelling is heard at once
        return await get(store, provider)

    assert asyncio.run(go()) == "a1"
    assert provider.sent == ["r0"]


def test_a_wait_has_an_end_and_stops_nobody_whose_token_is_valid(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider(tmp_path / "log", 0)

    async def go() -> None:
        async with renewal.shared.hold(("app", "ann", "calendar")):
            with pytest.raises(RenewalWaitError, match=r"for 0\.1 seconds; is it stuck"):
                async with renewal.shared.hold(("app", "ann", "calendar"), 0.1):
                    pass
            await store.save_credential(with_(credential("a8", "r8")), context(store))
            assert await asyncio.wait_for(get(store, provider), 5) == "a8"

    asyncio.run(go())
    assert provider.sent == []


def test_a_loop_that_ends_saves_what_a_thread_has_got(tmp_path: Path) -> None:
    store = open_file(tmp_path)
    save(store, credential("a0", "r0", lasts=-5))

    class Blocks(Provider):
        async def refresh(self, auth_credential: Any, auth_scheme: Any = None) -> AuthCredential:
            return await in_thread(lambda: time.sleep(0.2) or credential("a1", "r1"))  # type: ignore[func-returns-value]

    async def go() -> None:
        asking = asyncio.create_task(get(store, Blocks(tmp_path / "log")))
        await asyncio.sleep(0.1)
        assert not asking.done()

    asyncio.run(go())  # cancels every task of the loop
    assert asyncio.run(load(store)) == "a1"


def test_elsewhere_a_blocking_call_hears_its_cancellation() -> None:
    async def go() -> float:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_thread(lambda: time.sleep(0.5)), 0.05)
        return time.monotonic() - began

    assert asyncio.run(go()) < 0.4
