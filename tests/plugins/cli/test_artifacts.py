"""`newel artifacts list` and `gc`, and the artifacts of sessions that are deleted."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from newel.artifacts import FileArtifactService
from newel.sessions import SqliteSessionService
from newel_kernel import Event, EventActions, seam
from newel_types import Content, FileData, Part

DAY = 86400


class Office:
    """An agent `a.yaml` with sessions and artifacts, two days ago unless a test says otherwise."""

    def __init__(self, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project = project
        self.patch = monkeypatch
        project.write("a.yaml", "name: a\nmodel: 'echo:'\n")
        project.write(
            "newel.yaml",
            "name: mine\nextends: standard\nservices:\n  session: sqlite:///s.db\n  artifact: 'file:files'\n",
        )
        self.files = FileArtifactService("files")
        self.days_ago(2)

    def days_ago(self, days: float) -> None:
        self.patch.setattr(seam, "clock", lambda: time.time() - days * DAY)

    def newel(self, *args: str) -> Any:
        self.days_ago(0)
        return self.project.newel(*args)

    def save(self, session: str | None, *names: str, user: str = "user") -> None:
        for name in names:
            where = {"app_name": "a", "user_id": user, "session_id": session, "filename": name}
            asyncio.run(self.files.save_artifact(**where, artifact=Part(text=name)))

    def session(self, session: str, *events: Event, hold: bool = False, state: Any = None, user: str = "user") -> None:
        async def main() -> None:
            async with SqliteSessionService("s.db") as store:
                where = {"app_name": "a", "user_id": user, "session_id": session}
                view = await store.create_session(**where, state=state)
                for event in events:
                    await store.append_event(view, event)
                if hold:
                    await store.claim(**where, owner="another/worker", ttl=300)

        asyncio.run(main())

    def left(self) -> list[tuple[str | None, str, int]]:
        listed = json.loads(self.newel("artifacts", "list", "a.yaml").stdout)
        return [(one["session_id"], one["filename"], one["version"]) for one in listed]


def saved(**versions: int) -> Event:
    return Event(author="a", actions=EventActions(artifact_delta={f"{name}.txt": n for name, n in versions.items()}))


@pytest.fixture
def office(project: Any, monkeypatch: pytest.MonkeyPatch) -> Office:
    return Office(project, monkeypatch)


def test_what_nothing_refers_to_is_removed(office: Office) -> None:
    office.save("one", "x.txt", "x.txt", "x.txt", "said.txt", "said.txt", "lost.txt", "state ä.txt", "user:mine.txt")
    office.save("gone", "x.txt", "user:mine.txt")
    office.session("one", saved(x=0), Event(author="user", message="see said.txt"), state={"it": "state ä.txt"})
    before = office.left()
    expected = [
        "x.txt version 0 of session gone of user (the session is gone)",
        "lost.txt version 0 of session one of user (no event refers to it)",
        "said.txt version 0 of session one of user (no event refers to it)",
        "x.txt version 1 of session one of user (no event refers to it)",
    ]
    would = office.newel("artifacts", "gc", "a.yaml", "--dry-run")
    assert would.stdout.splitlines() == [f"would remove {line}" for line in expected]
    assert would.stderr == "would remove 4 in all\n"
    assert office.left() == before
    assert office.newel("artifacts", "gc", "a.yaml").stdout.splitlines() == [f"removed {line}" for line in expected]
    assert office.left() == [
        (None, "user:mine.txt", 0),
        (None, "user:mine.txt", 1),
        ("one", "said.txt", 1),
        ("one", "state ä.txt", 0),
        ("one", "x.txt", 0),
        ("one", "x.txt", 2),
    ]
    assert office.newel("artifacts", "gc", "a.yaml").stderr == "removed 0 in all\n"


def test_an_address_names_a_version(office: Office) -> None:
    office.save("one", "x.wav", "x.wav", "x.wav")
    said = FileData(file_uri="artifact://a/user/one/_adk_live/x.wav#1", mime_type="audio/wav")
    office.session("one", Event(author="user", content=Content(role="user", parts=[Part(file_data=said)])))
    office.newel("artifacts", "gc", "a.yaml")
    assert office.left() == [("one", "x.wav", 1), ("one", "x.wav", 2)]


@pytest.mark.parametrize("name", ['a "draft".txt', "a\\b.txt", "ä.txt"], ids=["quotes", "backslash", "not ASCII"])
def test_a_name_counts_however_deep_it_is_in_json(office: Office, name: str) -> None:
    office.save("one", name)
    text = json.dumps({"content": json.dumps({"file": name})})
    office.session("one", Event(author="user", message=text))
    office.newel("artifacts", "gc", "a.yaml")
    assert office.left() == [("one", name, 0)]


def test_what_is_young_is_left_until_it_is_old(office: Office) -> None:
    office.session("one")
    office.days_ago(0.5)
    office.save("one", "x.txt")
    office.save("gone", "x.txt")
    office.newel("artifacts", "gc", "a.yaml")
    assert len(office.left()) == 2
    office.newel("artifacts", "gc", "a.yaml", "--older-than", "6h")
    assert office.left() == []


def test_a_session_that_has_a_run_is_left_alone(office: Office) -> None:
    office.save("one", "x.txt")
    office.session("one", hold=True)
    done = office.newel("artifacts", "gc", "a.yaml")
    assert "one has a run, and is skipped" in done.stderr
    assert office.left() == [("one", "x.txt", 0)]


def test_an_event_that_is_written_after_the_listing_counts(office: Office) -> None:
    office.save("one", "x.txt", "x.txt")
    office.session("one")
    stored = FileArtifactService.stored

    async def listed(self: FileArtifactService, *, app_name: str) -> Any:
        found = await stored(self, app_name=app_name)
        async with SqliteSessionService("s.db") as store:
            view = await store.open(app_name="a", user_id="user", session_id="one")
            assert view is not None
            await store.append_event(view, saved(x=0))
        return found

    office.patch.setattr(FileArtifactService, "stored", listed)
    office.newel("artifacts", "gc", "a.yaml")
    office.patch.setattr(FileArtifactService, "stored", stored)
    assert office.left() == [("one", "x.txt", 0), ("one", "x.txt", 1)]


def test_what_a_crash_left_goes_with_the_rest(office: Office) -> None:
    office.save("one", "x.txt")
    office.session("one", saved(x=0))
    (folder,) = Path("files").rglob("artifact-*")
    (folder / ".new-1").mkdir()
    office.newel("artifacts", "gc", "a.yaml")
    assert (folder / ".new-1").is_dir()
    later = time.time() + 2 * DAY
    office.patch.setattr(time, "time", lambda: later)
    assert "left by a crash" in office.newel("artifacts", "gc", "a.yaml").stdout
    assert not (folder / ".new-1").exists()
    assert office.left() == [("one", "x.txt", 0)]


def test_the_wrong_sessions_remove_nothing(office: Office) -> None:
    office.save("one", "x.txt")
    office.session("one", saved(x=0))
    office.days_ago(0)
    assert office.project.newel("sessions", "list", "a.yaml", "--sessions", "sqlite:///other.db").stdout == "[]\n"
    refused = office.project.refused("artifacts", "gc", "a.yaml", "--sessions", "sqlite:///other.db")
    assert refused.startswith("the store has no session of 'a' at all, so that all 1 sessions with artifacts would")
    assert office.left() == [("one", "x.txt", 0)]
    done = office.newel("artifacts", "gc", "a.yaml", "--sessions", "sqlite:///other.db", "--yes")
    assert done.stderr == "removed 1 in all\n"


def test_sessions_are_deleted_with_their_artifacts(office: Office) -> None:
    for session in ("one", "two"):
        office.save(session, "x.txt", "user:y.txt")
        office.session(session, saved(x=0))
    office.newel("sessions", "delete", "a.yaml", "one", "--yes")
    assert office.left() == [(None, "user:y.txt", 0), (None, "user:y.txt", 1), ("two", "x.txt", 0)]


def test_artifacts_in_a_foreign_kind_of_store_do_not_hinder_a_deletion(office: Office) -> None:
    office.project.write(
        "own/agent.py",
        """
        from newel import Agent, App

        app = App(name="a", root_agent=Agent(name="a", model="echo:"), artifact_service=object())
        """,
    )
    for session in ("one", "two", "three"):
        office.session(session)
    assert office.newel("sessions", "delete", "own", "one", "two", "--yes").stdout == "deleted one\ndeleted two\n"
    done = office.newel("sessions", "delete", "own", "--older-than", "1m", "--yes")
    assert done.stdout.startswith("deleted 1 of 1 session")


def test_a_store_of_artifacts_that_cannot_be_opened_deletes_nothing(office: Office) -> None:
    office.session("one")
    office.project.write(
        "newel.yaml",
        "name: mine\nextends: standard\nservices:\n  session: sqlite:///s.db\n  artifact: 's3:nowhere'\n",
    )
    office.project.refused("sessions", "delete", "a.yaml", "one", "--yes")
    assert [one["id"] for one in json.loads(office.newel("sessions", "list", "a.yaml").stdout)] == ["one"]


def test_deleting_in_a_copy_leaves_the_artifacts_of_the_original(office: Office) -> None:
    for session in ("one", "two", "three"):
        office.save(session, "x.txt")
        office.session(session, saved(x=0))
    office.newel("sessions", "backup", "a.yaml", "copy.db")
    copy = ("--sessions", "sqlite:///copy.db")
    before = office.left()
    for what in (("one",), ("--older-than", "1m")):
        done = office.newel("sessions", "delete", "a.yaml", *what, "--yes", *copy)
        assert "artifacts are kept, because --sessions may name a copy" in done.stderr
        assert office.left() == before
    assert json.loads(office.newel("sessions", "list", "a.yaml", *copy).stdout) == []
    assert len(json.loads(office.newel("sessions", "list", "a.yaml").stdout)) == 3
    done = office.newel("sessions", "delete", "a.yaml", "one", "--yes", "--sessions", "sqlite:///./s.db")
    assert done.stderr == ""  # the same place in other words
    office.newel("sessions", "backup", "a.yaml", "copy2.db")
    copy = ("--sessions", "sqlite:///copy2.db", "--artifacts", "file:files")
    office.newel("sessions", "delete", "a.yaml", "two", "--yes", *copy)
    assert office.left() == [("three", "x.txt", 0)]


def test_a_fork_has_artifacts_of_its_own(office: Office) -> None:
    office.save("one", "x.txt", "x.txt", "x.txt", "later.txt", "said.txt", "unused.txt", "user:y.txt")
    office.session("one", saved(x=1), Event(author="user", message="see said.txt and x.txt"), saved(x=2, later=0))
    office.newel("sessions", "fork", "a.yaml", "one", "--as", "two", "--events", "2")
    office.newel("sessions", "fork", "a.yaml", "one", "--as", "three")
    forks = [one for one in office.left() if one[0] in ("two", "three")]
    assert forks == [
        ("three", "later.txt", 0),
        ("three", "said.txt", 0),
        ("three", "x.txt", 1),
        ("three", "x.txt", 2),
        ("two", "said.txt", 0),
        ("two", "x.txt", 1),
    ]
    office.newel("sessions", "delete", "a.yaml", "one", "--yes")
    office.newel("artifacts", "gc", "a.yaml", "--older-than", "0m")
    assert [one for one in office.left() if one[0] is not None] == forks

    async def read() -> Part | None:
        return await office.files.load_artifact(
            app_name="a", user_id="user", session_id="two", filename="x.txt", version=1
        )

    assert asyncio.run(read()) == Part(text="x.txt")
    assert office.project.refused("sessions", "fork", "a.yaml", "two", "--as", "three").startswith("Session with id")
    office.save("four", "x.txt")
    refused = office.project.refused("sessions", "fork", "a.yaml", "two", "--as", "four")
    assert refused.startswith("there are artifacts of an earlier session 'four' (x.txt): give the fork another id")
    assert [one for one in office.left() if one[0] == "four"] == [("four", "x.txt", 0)]
    listed = json.loads(office.newel("sessions", "list", "a.yaml").stdout)
    assert sorted(one["id"] for one in listed) == ["three", "two"]


def test_other_places_are_given_or_asked_for(project: Any) -> None:
    project.write("a.yaml", "name: a\nmodel: 'echo:'\n")
    assert project.refused("artifacts", "list", "a.yaml").startswith(
        "the agent has no artifact store: set services.artifact in the distribution 'standard', or give --artifacts"
    )
    asyncio.run(
        FileArtifactService("there").save_artifact(
            app_name="a", user_id="ann", session_id="s", filename="x", artifact=Part(text="x")
        )
    )
    command = ("artifacts", "list", "a.yaml", "--artifacts", "file:there")
    (one,) = json.loads(project.newel(*command).stdout)
    assert (one["user_id"], one["session_id"], one["filename"], one["version"]) == ("ann", "s", "x", 0)
    assert json.loads(project.newel(*command, "--user", "bob").stdout) == []


def test_a_run_closes_the_artifact_store(office: Office) -> None:
    closed: list[FileArtifactService] = []

    async def close(self: FileArtifactService) -> None:
        closed.append(self)

    office.patch.setattr(FileArtifactService, "close", close)
    assert office.newel("run", "a.yaml", "hi").exit_code == 0
    assert len(closed) == 1
