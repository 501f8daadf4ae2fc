"""The credential stores: the same answers, and a file that keeps its secrets and survives what happens to files."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import keyring
import pytest
from cryptography.fernet import Fernet
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as BrokenKeyring

from newel.agents import Context, InvocationContext
from newel.auth import AuthConfig, AuthCredential
from newel.auth.auth_schemes import HTTPBearer
from newel.auth.credential_service import EncryptedFileCredentialService, InMemoryCredentialService
from newel.auth.credential_service.key_ring import VARIABLE
from newel.auth.errors import CredentialStoreError
from newel.auth.kinds import CredentialBackend
from newel_compose import compose, compose_once
from newel_kernel import ConfigurationError, RunConfig, Session

SECRET = "canary-77aa-token"


def config(key: str = "k1", secret: str | None = None) -> AuthConfig:
    credential = AuthCredential(auth_type="apiKey", api_key=secret) if secret else None
    return AuthConfig(auth_scheme=HTTPBearer(), credential_key=key, exchanged_auth_credential=credential)


def context(user: str = "ann", app: str = "app") -> Context:
    session = Session(id="s", app_name=app, user_id=user)
    agent = type("Agent", (), {"name": "root"})()
    return Context(InvocationContext(None, session, agent, compose_once("standard"), RunConfig()))  # type: ignore[arg-type]


def save(store: Any, key: str, secret: str | None, **where: str) -> None:
    asyncio.run(store.save_credential(config(key, secret), context(**where)))


def load(store: Any, key: str = "k1", **where: str) -> str | None:
    found = asyncio.run(store.load_credential(config(key), context(**where)))
    return None if found is None else found.api_key


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    made = Fernet.generate_key().decode()
    monkeypatch.setenv(VARIABLE, made)
    return made


@pytest.fixture(params=["memory", "file"])
def store(request: Any, tmp_path: Path, key: str) -> Any:
    return InMemoryCredentialService() if request.param == "memory" else EncryptedFileCredentialService(tmp_path / "c")


def test_a_credential_comes_back_to_its_owner_only(store: Any) -> None:
    save(store, "k1", SECRET)
    assert load(store) == SECRET
    assert [load(store, "k2"), load(store, user="bob"), load(store, app="other")] == [None] * 3
    save(store, "k1", "another-token")
    assert load(store) == "another-token"
    save(store, "k1", None)
    assert load(store) is None
    save(store, "k1", None)


# --- the file ---------------------------------------------------------------------------------------------------------


def test_the_file_is_private_and_tells_nothing(tmp_path: Path, key: str) -> None:
    path = tmp_path / "deep" / "credentials"
    save(EncryptedFileCredentialService(path), "bank", SECRET, user="ann-of-green-gables")
    data = path.read_bytes()
    assert not any(word in data for word in (SECRET.encode(), b"bank", b"gables"))
    assert {one.name: one.stat().st_mode & 0o777 for one in path.parent.iterdir()} == {
        "credentials": 0o600,
        "credentials.lock": 0o600,
    }
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert load(EncryptedFileCredentialService(path), "bank", user="ann-of-green-gables") == SECRET


def test_another_key_is_told_without_a_secret(tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c"
    save(EncryptedFileCredentialService(path), "k1", SECRET)
    other = Fernet.generate_key().decode()
    monkeypatch.setenv(VARIABLE, other)
    with pytest.raises(CredentialStoreError, match="cannot be decrypted: the key is wrong") as caught:
        EncryptedFileCredentialService(path)
    text = "".join(traceback.format_exception(caught.value))
    assert not any(word in text for word in (SECRET, key, other))


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-9], lambda d: b"", lambda d: d[:40] + bytes([d[40] ^ 1]) + d[41:], lambda d: b"{}"]
)
def test_a_damaged_file_is_told_and_left_alone(tmp_path: Path, key: str, damage: Any) -> None:
    path = tmp_path / "c"
    store = EncryptedFileCredentialService(path)
    save(store, "k1", SECRET)
    path.write_bytes(damaged := damage(path.read_bytes()))
    for act in (lambda: load(store), lambda: save(store, "k2", "new-token")):
        with pytest.raises(CredentialStoreError, match="or the file is damaged"):
            act()
    assert path.read_bytes() == damaged


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "c"
    store = EncryptedFileCredentialService(path)
    save(store, "k1", SECRET)
    path.chmod(0o644)
    with pytest.raises(CredentialStoreError, match=r"has the mode 0644, so that others can use .*: chmod 600"):
        load(store)


def test_keys_rotate(tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, new = tmp_path / "c", Fernet.generate_key().decode()
    save(EncryptedFileCredentialService(path), "k1", SECRET)
    monkeypatch.setenv(VARIABLE, f"{new}, {key}")
    both = EncryptedFileCredentialService(path)
    assert load(both) == SECRET
    both.rotate()
    monkeypatch.setenv(VARIABLE, new)
    assert load(EncryptedFileCredentialService(path)) == SECRET
    monkeypatch.setenv(VARIABLE, key)
    with pytest.raises(CredentialStoreError):
        EncryptedFileCredentialService(path)


WRITER = """
import asyncio, sys
sys.path.insert(0, {here!r})
import test_credential_stores as t
store = t.EncryptedFileCredentialService({path!r})
for n in range({count}):
    t.save(store, f"{{sys.argv[1]}}-{{n}}", f"token-{{sys.argv[1]}}-{{n}}")
"""


def run(code: str, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, *args], stderr=subprocess.PIPE, text=True)


def test_writers_in_several_processes_lose_nothing(tmp_path: Path, key: str) -> None:
    path = tmp_path / "c"
    code = WRITER.format(here=str(Path(__file__).parent), path=str(path), count=8)
    writers = [run(code, name) for name in "abc"]
    errors = [one.communicate()[1] for one in writers]
    assert [one.returncode for one in writers] == [0, 0, 0], errors
    store = EncryptedFileCredentialService(path)
    assert all(load(store, f"{name}-{n}") == f"token-{name}-{n}" for name in "abc" for n in range(8))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["c", "c.lock"]


def test_tasks_side_by_side_lose_nothing(tmp_path: Path, key: str) -> None:
    store = EncryptedFileCredentialService(tmp_path / "c")

    async def write() -> None:
        await asyncio.gather(*(store.save_credential(config(f"k{n}", f"token-{n}"), context()) for n in range(20)))

    asyncio.run(write())
    assert [load(store, f"k{n}") for n in range(20)] == [f"token-{n}" for n in range(20)]


FULL_DISK = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60, 60))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
def test_a_write_that_fails_leaves_the_old_state(tmp_path: Path, key: str) -> None:
    path = tmp_path / "c"
    store = EncryptedFileCredentialService(path)
    save(store, "k1", SECRET)
    before = path.read_bytes()
    code = WRITER.format(here=str(Path(__file__).parent), path=str(path), count=1)
    failed = run(code.replace("for n", FULL_DISK + "for n"), "x")
    error = failed.communicate()[1]
    assert failed.returncode == 1
    assert "CredentialStoreError: the credentials cannot be written to" in error
    assert "token-x" not in error
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["c", "c.lock"]


# --- the keys ---------------------------------------------------------------------------------------------------------


def test_a_key_file_is_made_private_and_found_again(tmp_path: Path) -> None:
    source = f"file:{tmp_path}/key"
    save(EncryptedFileCredentialService(tmp_path / "c", source), "k1", SECRET)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert load(EncryptedFileCredentialService(tmp_path / "c", source)) == SECRET
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(CredentialStoreError, match="chmod 600"):
        EncryptedFileCredentialService(tmp_path / "c", source)


class Ring(KeyringBackend):
    """A keyring of this test, where the machine has none."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


def test_a_key_in_the_keyring_is_made_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    before, ring = keyring.get_keyring(), Ring()
    try:
        keyring.set_keyring(ring)
        save(EncryptedFileCredentialService(tmp_path / "c"), "k1", SECRET)
        assert list(ring.kept) == [("newel", "credentials")]
        assert load(EncryptedFileCredentialService(tmp_path / "c", "keyring:credentials")) == SECRET
        keyring.set_keyring(BrokenKeyring())
        with pytest.raises(CredentialStoreError, match=r"the system's keyring cannot be used .*: set NEWEL"):
            EncryptedFileCredentialService(tmp_path / "c")
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("env:NO_SUCH_VARIABLE", "the environment variable NO_SUCH_VARIABLE holds no key; make one with: python -c"),
        ("env:BAD_KEY", "env:BAD_KEY holds no key that can be used"),
        ("vault:x", "'vault' is not a source of keys"),
        ("hunter2=", "key is env:VARIABLE, file:/path or keyring:name, not the key itself"),
        ("file:/no/such/folder/key", "the key file /no/such/folder/key cannot be created"),
    ],
)
def test_a_key_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, words: str) -> None:
    monkeypatch.setenv("BAD_KEY", "hunter2")
    with pytest.raises(CredentialStoreError) as caught:
        EncryptedFileCredentialService(tmp_path / "c", source)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


# --- the addresses ----------------------------------------------------------------------------------------------------


def test_a_distribution_names_its_store(tmp_path: Path, key: str) -> None:
    composed = compose("standard")
    assert isinstance(composed.open_service(CredentialBackend), InMemoryCredentialService)
    for uri in (f"file:{tmp_path}/a", f"file://{tmp_path}/a", f"file:{tmp_path}/a?key=env:{VARIABLE}"):
        store = composed.open_service(CredentialBackend, uri)
        save(store, "k1", SECRET)
        assert load(EncryptedFileCredentialService(tmp_path / "a")) == SECRET


@pytest.mark.parametrize("uri", ["file:", "file://host/c", "file:c?password=x", "file:c?key=env:A&key=env:B"])
def test_an_address_that_names_no_file(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="credential"):
        compose("standard").open_service(CredentialBackend, uri)
