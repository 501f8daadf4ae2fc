"""Apps: the agents that a server serves, by name; each is loaded when it is first used."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from newel.files.agent_places import Place as Place
from newel.files.agent_places import agent_places, is_app, places_in
from newel.files.agent_source import AgentSource, load_source
from newel.server.refusals import Refusal
from newel_compose import Composition
from newel_kernel import BaseAgent, ConfigurationError

#: The name of an app that is made here.
_APP = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class Apps:
    """The apps in a folder, or those that were handed in."""

    def __init__(self, composition: Composition, reference: str | None, agents: Mapping[str, object] | None) -> None:
        self._composition = composition
        self._folder, self._fixed = agent_places(reference) if reference is not None else (None, {})
        for name, agent in (agents or {}).items():
            self._fixed[name] = Place(agent=_as_source(name, agent))
        self._loaded: dict[str, AgentSource] = {}
        self._loading: dict[str, asyncio.Lock] = {}

    def places(self) -> dict[str, Place]:
        """The apps by name, sorted. A folder in which nothing looks like an agent is left out."""
        found = {**self._fixed, **(places_in(self._folder) if self._folder is not None else {})}
        return dict(sorted(found.items()))

    def place(self, name: str) -> Place:
        """Where an app is; a Refusal if there is none of that name."""
        place = self._fixed.get(name)
        if place is None and self._folder is not None and name not in ("", ".", "..") and Path(name).name == name:
            folder = self._folder / name
            if not name.startswith((".", "_")) and is_app(folder):
                place = Place(str(folder), folder=folder)
        if place is None:
            raise Refusal(404, "App not found")
        return place

    def folder_of(self, name: str) -> Path:
        """The folder of an app, which need not exist yet; a Refusal if the app is not one of a folder's."""
        if (place := self._fixed.get(name)) is not None:
            folder = place.folder
        else:
            folder = self._folder / name if self._folder is not None and _APP.fullmatch(name) else None
        if folder is None:
            raise Refusal(400, "the app has no folder here: its name must be letters, digits and _")
        return folder

    def forget(self, name: str) -> None:
        """Have an app loaded again when it is next used."""
        self._loaded.pop(name, None)

    async def source(self, name: str) -> AgentSource:
        """The agent of an app, loaded in a thread so that other requests go on; what prevents that is raised."""
        if (source := self._loaded.get(name)) is not None:
            return source
        place = self.place(name)
        if place.agent is not None:
            return place.agent
        async with self._loading.setdefault(name, asyncio.Lock()):
            if name not in self._loaded:
                self._loaded[name] = await asyncio.to_thread(load_source, place.reference, self._composition)
        return self._loaded[name]


def _as_source(name: str, agent: object) -> AgentSource:
    if isinstance(agent, BaseAgent):
        return AgentSource(agent)
    if isinstance(getattr(agent, "root_agent", None), BaseAgent):
        return AgentSource(agent.root_agent, agent)  # type: ignore[attr-defined]
    raise ConfigurationError(f"agents[{name!r}] is {type(agent).__name__}; give an agent or an App")
