"""What belongs to one app, user and session is nobody else's, whatever the ids are and however they join."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from newel import Agent, Context, Runner
from newel.agents.langgraph_agent import LangGraphAgent
from newel.artifacts import FileArtifactService, InMemoryArtifactService
from newel.artifacts.objects.keys import Owner
from newel.auth.credential_service.encrypted_file_credential_service import _name
from newel.auth.pending import _stored
from newel.claims.claim import table_of
from newel.flows.code_runs import environment_of
from newel.memory import InMemoryMemoryService
from newel.memory.sqlite import SqliteMemoryService
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.testing import ScriptedModel
from newel.tools.agent_call import derived_session_id
from newel_kernel import Event, Session
from newel_types import AuthConfig, Content, Part

#: Joined by any of these characters, some of the triples are the same text.
_IDS = ["a", "a:b", "b:a", "a/b", "b/a", "a_b", "a.b", "b", "A"]
TRIPLES = [ids for ids in itertools.product(_IDS, repeat=3) if len(set(ids)) > 1][::7]


def session_of(ids: tuple[str, str, str]) -> Session:
    return Session(id=ids[2], app_name=ids[0], user_id=ids[1], events=[])


def invocation(ids: tuple[str, ...], name: str = "agent") -> Any:
    return SimpleNamespace(session=session_of((ids[0], ids[1], ids[2])), invocation_id="i", name=name)


KEYS: dict[str, Any] = {
    "environment of code": lambda ids: environment_of(session_of(ids)),
    "folder of artifacts": lambda ids: Owner(*ids).folder(""),
    "thread of a graph": lambda ids: LangGraphAgent(name="g", graph=SimpleNamespace(invoke=1))._thread(invocation(ids)),
    "session of a call": lambda ids: derived_session_id(
        SimpleNamespace(session=session_of(("", "", ids[0])), invocation_id=ids[1]),  # type: ignore[arg-type]
        ids[2],
        0,
    ),
    "credential in a file": lambda ids: _name(
        AuthConfig.model_construct(credential_key=ids[2]),
        SimpleNamespace(session=session_of((ids[0], ids[1], "s"))),  # type: ignore[arg-type]
    ),
    "secret of a request": lambda ids: (
        _stored(
            SimpleNamespace(session=session_of(("", "", ids[0]))),  # type: ignore[arg-type]
            "oauth",
            f"{ids[1]}:{ids[2]}",
            AuthConfig.model_construct(credential_key=""),
        ).credential_key
    ),
}


@pytest.mark.parametrize("what", KEYS)
def test_no_two_owners_have_one_key(what: str) -> None:
    made = [KEYS[what](ids) for ids in TRIPLES]
    pairs = {(ids[0], f"{ids[1]}:{ids[2]}") for ids in TRIPLES} if what == "secret of a request" else set(TRIPLES)
    assert len(set(made)) == len(pairs)
    assert len({key.casefold() for key in made}) == len(pairs) or "folder" not in what  # file systems that ignore case


def test_the_channel_of_a_session() -> None:
    bus = pytest.importorskip("newel_redis.bus").Bus()
    assert len({bus.channel(*ids) for ids in TRIPLES}) == len(TRIPLES)


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_artifacts(kind: str, tmp_path: Path) -> None:
    store: Any = InMemoryArtifactService() if kind == "memory" else FileArtifactService(tmp_path)

    async def main() -> None:
        uris = set()
        for ids in TRIPLES:
            where = dict(zip(("app_name", "user_id", "session_id"), ids, strict=True))
            await store.save_artifact(**where, filename="f", artifact=Part(text=repr(ids)))
            uris.add((await store.get_artifact_version(**where, filename="f")).canonical_uri)
        assert len(uris) == len(TRIPLES)
        for ids in TRIPLES:
            where = dict(zip(("app_name", "user_id", "session_id"), ids, strict=True))
            assert (await store.load_artifact(**where, filename="f")).text == repr(ids)
            assert await store.list_versions(**where, filename="f") == [0]

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_sessions_and_their_state(kind: str, tmp_path: Path) -> None:
    store: Any = InMemorySessionService() if kind == "memory" else SqliteSessionService(str(tmp_path / "s.db"))

    async def main() -> None:
        for app, user, session in TRIPLES:
            state = {"own": session, "user:own": user, "app:own": app}
            await store.create_session(app_name=app, user_id=user, session_id=session, state=state)
        for app, user, session in TRIPLES:
            found = await store.get_session(app_name=app, user_id=user, session_id=session)
            assert dict(found.state) == {"own": session, "user:own": user, "app:own": app}
            own = [one.id for one in (await store.list_sessions(app_name=app, user_id=user)).sessions]
            assert sorted(own) == sorted(s for a, u, s in TRIPLES if (a, u) == (app, user))

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_memory(kind: str, tmp_path: Path) -> None:
    store: Any = InMemoryMemoryService() if kind == "memory" else SqliteMemoryService(str(tmp_path / "m.db"))

    async def main() -> None:
        for number, ids in enumerate(TRIPLES):
            text = Content(role="user", parts=[Part(text=f"tulip n{number}")])
            session = Session(id=ids[2], app_name=ids[0], user_id=ids[1], events=[Event(author="user", content=text)])
            await store.add_session_to_memory(session)
        for app, user in {ids[:2] for ids in TRIPLES}:
            found = (await store.search_memory(app_name=app, user_id=user, query="tulip")).memories
            own = {f"tulip n{number}" for number, ids in enumerate(TRIPLES) if ids[:2] == (app, user)}
            assert {one.content.parts[0].text for one in found} <= own
            assert found

    asyncio.run(main())


def test_runs_side_by_side() -> None:
    """Sessions of one id, of other users and other apps, run at once: no claim meets another."""

    async def main() -> None:
        store = InMemorySessionService()
        together = asyncio.Barrier(3)

        async def meet(tool_context: Context) -> str:
            """Meet."""
            await asyncio.wait_for(together.wait(), 10)
            return "met"

        async def run(app: str, user: str) -> str:
            model = ScriptedModel([{"call": "meet"}, f"{app} {user}"])
            agent = Agent(name="agent", model=model, tools=[meet])
            runner = Runner(agent=agent, app_name=app, session_service=store, auto_create_session=True)
            events = [one async for one in runner.run_async(user_id=user, session_id="s", new_message="go")]
            return str(events[-1].content.parts[0].text)  # type: ignore[union-attr]

        places = [("a", "b_c"), ("a_b", "c"), ("a", "c")]
        assert await asyncio.gather(*(run(*place) for place in places)) == ["a b_c", "a_b c", "a c"]
        assert not len(table_of(store))

    asyncio.run(main())
