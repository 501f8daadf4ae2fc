"""How many processes run the tests, and what the tests of the kernel and the host share."""

from __future__ import annotations

import asyncio
import gc
import os
import pty
import signal
import subprocess
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from newel_compose import Composition, compose_once
from newel_kernel import BaseAgent, BaseSessionService, Event, Session, seam
from newel_types import Content, FunctionCall, Part

#: Where Python keeps the code of modules that the tests' own processes compile, if it is not to stand beside them:
#: hundreds of processes would compile everything once more.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode"))
# A shell that runs the tests in the background lets them ignore Ctrl-C, and with them each program that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# How long a machine takes is no property of the code.
settings.register_profile("newel", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("newel")
#: Seconds for a script that does not read.
_PATIENCE = 60
#: The servers of tests; the package is not installed where the tests run, so its entry point is not found.
pytest_plugins = ["newel_testkit.fixtures"]
WHERE = {"app_name": "tearoom", "user_id": "ada", "session_id": "s1"}


class Talk:
    """One session with one agent."""

    def __init__(
        self,
        agent: BaseAgent,
        *,
        distribution: Any = "adk",
        composition: Composition | None = None,
        plugins: Sequence[Any] = (),
        service: BaseSessionService | None = None,
        resumable: bool = False,
        **runner: Any,
    ) -> None:
        # The kernel's tests load this file where there is no newel.
        from newel.runners import Runner
        from newel.sessions import InMemorySessionService

        app = None
        if resumable:
            config = SimpleNamespace(is_resumable=True)
            app = SimpleNamespace(name="tearoom", root_agent=agent, plugins=list(plugins), resumability_config=config)
        self.service = service or InMemorySessionService()
        self.runner = Runner(
            app=app,
            app_name="tearoom",
            agent=None if app else agent,
            plugins=None if app else plugins,
            session_service=self.service,
            auto_create_session=True,
            composition=composition or compose_once(distribution),
            **runner,
        )

    async def send(self, message: Any = "tea", **options: Any) -> list[Event]:
        """The events of one invocation."""
        where = {"user_id": "ada", "session_id": "s1", **options}
        return [event async for event in self.runner.run_async(new_message=message, **where)]

    async def stored(self) -> Session:
        """The session as the store has it."""
        session = await self.service.get_session(**WHERE)
        assert session is not None
        return session

    def say(self, *messages: Any, **options: Any) -> list[Event]:
        """The events of the last of the invocations that `messages` start."""

        async def run() -> list[Event]:
            for message in messages:
                events = await self.send(message, **options)
            return events

        return asyncio.run(run())

    @property
    def session(self) -> Session:
        """The stored session, for synchronous tests."""
        return asyncio.run(self.stored())


@pytest.fixture(autouse=True)
def settings_of_one_test() -> Iterator[None]:
    """What `--set` wrote into the environment is gone after the test."""
    before = {name for name in os.environ if name.startswith("NEWEL_SETTINGS")}
    yield
    for name in {name for name in os.environ if name.startswith("NEWEL_SETTINGS")} - before:
        del os.environ[name]


@pytest.fixture
def talk() -> type[Talk]:
    """Starts a conversation: ``talk(agent, plugins=[...]).say("tea")``."""
    return Talk


@pytest.fixture
def shown() -> Callable[[Sequence[Event]], list[Any]]:
    """Events in short: ``(author, text)``, ``(author, "call", name)``, ``(author, "result", name, response)``."""

    def show(events: Sequence[Event]) -> list[Any]:
        return [entry for event in events for entry in _shown(event)]

    return show


def _shown(event: Event) -> Iterator[Any]:
    for part in (event.content.parts or ()) if event.content else ():
        if part.function_call is not None:
            yield event.author, "call", part.function_call.name
        elif part.function_response is not None:
            yield event.author, "result", part.function_response.name, part.function_response.response
        else:
            yield event.author, part.text


@pytest.fixture
def call() -> Callable[..., Part]:
    """A part that calls a tool."""

    def make(name: str, id: str | None = None, **args: Any) -> Part:
        return Part(function_call=FunctionCall(name=name, args=args, id=id))

    return make


@pytest.fixture
def text() -> Callable[..., Content]:
    """A content of one text."""

    def make(words: str, role: str = "model") -> Content:
        return Content(role=role, parts=[Part(text=words)])

    return make


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids and times that count up, in place of random ones and the clock."""
    numbers = iter(range(1, 1_000_000))
    monkeypatch.setattr(seam, "new_id", lambda: f"id-{next(numbers)}")
    monkeypatch.setattr(seam, "clock", lambda: 1000.0 + next(numbers))


@pytest.fixture
def extending(tmp_path: Path) -> Callable[..., Path]:
    """Writes a distribution that extends another: ``extending("adk", "disable: [auth]")``."""

    def write(base: str | None, body: str = "", name: str = "house") -> Path:
        path = tmp_path / f"{name}.yaml"
        head = f"extends: {base}\n" if base else ""
        path.write_text(f"{head}{body}\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def site(fake_packages: Any) -> Any:
    """An empty folder of installed distributions, on sys.path; `stage` installs a plugin with one processor."""

    def stage(plugin: str, distribution: str = "newel-extra", **anchors: Any) -> None:
        given = ", ".join(f"{key}={value!r}" for key, value in anchors.items())
        source = f"""
            from newel_kernel import RequestProcessor, hookimpl

            async def run(ctx, request):
                request.append_instructions(["{plugin} was here"])

            @hookimpl
            def register_request_processors():
                return [RequestProcessor(name={plugin!r}, run=run, {given})]
            """
        fake_packages.install(distribution, plugins={plugin: f"fake_{plugin}"}, **{f"fake_{plugin}": source})

    fake_packages.stage = stage
    return fake_packages


#: Each process collects all tests, so that many more of them spare little.
_MOST = 8


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two more than cores, for a third of their time is waiting.

    None besides pytest's own for the tests of one file, which would wait for them to start.
    """
    first, *others = config.args
    if not others and Path(first.partition("::")[0]).is_file():
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores + 2, _MOST) if cores > 1 else 0


#: Those that take longest, by what they wait for. Whoever starts one of them last waits for it alone.
_LONG = (
    "test_first_hour.py",
    "test_site.py",
    "contrib/test_wheels.py",
    "test_quality.py",
    "test_printed_commands.py",
    "faults/test_faults.py",
)


#: Those that share an SDK that takes seconds to import, or a server. A process begins with them, for what it has begun
#: with no other one takes over.
_TOGETHER = ("plugins/models/litellm", "plugins/artifacts")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files of `_LONG`: a process has them to itself, with what they build, while others do the rest."""
    order = {Path(__file__).parent / name: place for place, name in enumerate(_LONG)}
    items.sort(key=lambda item: order.get(item.path, len(order)))
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    share = len(items) // processes
    for number, name in enumerate(_TOGETHER[: processes - 1], start=1):
        folder = Path(__file__).parent / name
        inside = [item for item in items if folder in item.path.parents]
        others = [item for item in items if folder not in item.path.parents]
        items[:] = [*others[: number * share], *inside, *others[number * share :]]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep the objects of modules and collected tests out of the garbage collector's way.

    None of them is garbage, and it takes a third of the time of most tests to look through them again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.collect()  # counts what is left, which decides when all generations are looked through
        gc.set_threshold(10_000, 10, 10)
        gc.enable()


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], None]], Path]:
    """``once("site", fill)``: a folder that all processes of the tests share; the first that asks for it fills it."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def filled(name: str, fill: Callable[[Path], None]) -> Path:
        folder = base / f"once-{name}"
        with FileLock(f"{folder}.lock"):
            if not folder.exists():
                partial = folder.with_suffix(".partial")
                partial.mkdir()
                fill(partial)
                partial.rename(folder)
        return folder

    return filled


@contextmanager
def _database(kind: str, clear: Callable[[str], str], execute: Callable[[str, str], Awaitable[None]]) -> Iterator[Any]:
    """An empty database of a server, made for this process and dropped after it: what is given returns its URL."""
    name = f"newel_test_{os.getpid()}"
    try:
        asyncio.run(execute("", f"DROP DATABASE IF EXISTS {name}"))
        asyncio.run(execute("", f"CREATE DATABASE {name}"))
    except Exception as error:
        pytest.skip(f"no {kind} server can be reached: {error}")

    def empty() -> str:
        asyncio.run(execute(name, clear(name)))
        return name

    yield empty
    asyncio.run(execute("", f"DROP DATABASE {name}" + (" WITH (FORCE)" if kind == "PostgreSQL" else "")))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """The URL of an empty PostgreSQL database, at each call."""
    import asyncpg

    host = os.environ.get("PGHOST", "127.0.0.1")

    async def execute(database: str, statement: str) -> None:
        connection = await asyncpg.connect(host=host, user="postgres", database=database or "postgres", timeout=60)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    clear = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"
    with _database("PostgreSQL", lambda name: clear, execute) as empty:
        yield lambda: f"postgresql://postgres@{host}/{empty()}"


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Callable[[], str]]:
    """The URL of an empty MariaDB database, at each call."""
    import asyncmy

    host = os.environ.get("MYSQL_HOST", "127.0.0.1")

    async def execute(database: str, statements: str) -> None:
        connection = await asyncmy.connect(host=host, user="root", password="", connect_timeout=60)
        try:
            async with connection.cursor() as cursor:
                for statement in statements.split("; "):
                    await cursor.execute(statement)
        finally:
            await connection.ensure_closed()

    with _database("MariaDB", lambda name: f"DROP DATABASE {name}; CREATE DATABASE {name}", execute) as empty:
        yield lambda: f"mysql+asyncmy://root@{host}/{empty()}"


@pytest.fixture
def in_terminal() -> Callable[[Path, Mapping[str, str]], tuple[int, str]]:
    """Runs a script of the shell, in its folder: its status, and what it shows on a terminal."""
    return _in_terminal


def _in_terminal(script: Path, env: Mapping[str, str]) -> tuple[int, str]:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        ["bash", "-e", script], cwd=script.parent, env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
        status = process.wait(_PATIENCE)
    os.close(ours)
    return status, shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""
