"""The plugins that deal with data: files of the user, and parts that tools return."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.artifacts import InMemoryArtifactService
from newel.plugins import MultimodalToolResultsPlugin, SaveFilesAsArtifactsPlugin
from newel.artifacts.base_artifact_service import ArtifactVersion
from newel_types import Content, Part
from newel_types import Blob

WHERE: dict[str, Any] = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}


def file(name: str | None = "plan.txt", data: bytes = b"plan") -> Part:
    return Part(inline_data=Blob(mime_type="text/plain", data=data, display_name=name))


def message(*parts: Part) -> Content:
    return Content(role="user", parts=[Part(text="look"), *parts])


def test_files_become_artifacts(talk: Any) -> None:
    async def main() -> None:
        one = talk(["seen"], SaveFilesAsArtifactsPlugin())
        events = await one.send(message(file(), file(None)))
        session = await one.stored()
        unnamed = f"artifact_{session.events[0].invocation_id}_2"
        texts = [part.text for part in session.events[0].content.parts]
        assert texts == ["look", '[Uploaded Artifact: "plan.txt"]', f'[Uploaded Artifact: "{unnamed}"]']
        assert events[0].actions.artifact_delta == {"plan.txt": 0, unnamed: 0}
        assert await one.artifacts.list_artifact_keys(**WHERE) == [unnamed, "plan.txt"]
        assert (await one.artifacts.load_artifact(**WHERE, filename="plan.txt")).inline_data.data == b"plan"

    asyncio.run(main())


def test_a_message_without_files_stays_as_it_is(talk: Any) -> None:
    async def main() -> None:
        one = talk(["seen"], SaveFilesAsArtifactsPlugin())
        assert len(await one.send(message())) == 1

    asyncio.run(main())


@pytest.mark.parametrize("attach", [True, False])
def test_an_address_that_a_provider_reaches_is_attached(attach: bool, talk: Any) -> None:
    class Bucket(InMemoryArtifactService):
        async def get_artifact_version(self, **where: Any) -> ArtifactVersion | None:
            return ArtifactVersion(version=0, canonical_uri="gs://bucket/plan.txt")

    async def main() -> None:
        one = talk(["seen"], SaveFilesAsArtifactsPlugin(attach_file_reference=attach), artifacts=Bucket())
        await one.send(message(file()))
        files = [part.file_data for part in one.model.requests[0].contents[0].parts if part.file_data is not None]
        assert [(one.file_uri, one.mime_type) for one in files] == [("gs://bucket/plan.txt", "text/plain")] * attach

    asyncio.run(main())


def test_a_file_that_cannot_be_saved_stays_in_the_message(talk: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        one = talk(["seen"], SaveFilesAsArtifactsPlugin())
        await one.send(message(file("../x"), file()))
        parts = (await one.stored()).events[0].content.parts
        assert parts[1].inline_data.data == b"plan"
        assert parts[2].text == '[Uploaded Artifact: "plan.txt"]'

    asyncio.run(main())
    assert "could not be saved" in caplog.text


def test_without_a_store_nothing_happens(talk: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        one = talk(["seen"], SaveFilesAsArtifactsPlugin(), artifacts=False)
        await one.send(message(file()))
        assert (await one.stored()).events[0].content.parts[1].inline_data is not None

    asyncio.run(main())
    assert "no artifact service" in caplog.text


@pytest.mark.parametrize("many", [False, True])
def test_parts_that_a_tool_returns_are_sent_once(many: bool, talk: Any) -> None:
    def draw() -> Any:
        """Draw."""
        return [file(), Part(text="and")] if many else file()

    async def main() -> None:
        one = talk([{"call": "draw"}, {"call": "plain"}, "done"], MultimodalToolResultsPlugin(), tools=[draw, plain])
        await one.send()
        sent = one.model.requests[1].contents[-1].parts
        assert sent[0].function_response.name == "draw"
        assert sent[1].inline_data.data == b"plan"
        assert len(sent) == (3 if many else 2)
        assert all(len(content.parts) == 1 for content in one.model.requests[2].contents)
        assert all(len(event.content.parts) == 1 for event in (await one.stored()).events)

    asyncio.run(main())


def plain() -> dict[str, Any]:
    """Return no part."""
    return {"x": []}
