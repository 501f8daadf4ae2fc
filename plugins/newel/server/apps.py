"""Apps: the agents that a server serves, by name; each is loaded when it is first used."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from os import scandir
from os.path import isfile
from pathlib import Path

from newel.files.agent_source import AgentSource, load_source
from newel.server.refusals import Refusal
from newel_compose import Composition
from newel_kernel import BaseAgent, ConfigurationError

_YAML = tuple(f"{name}{suffix}" for name in ("app", "root_agent", "agent") for suffix in (".yaml", ".yml"))
_ENTRIES = ("agent.py", *_YAML, "agent/__init__.py")
_NAMES = ("root_agent", "app")
#: The name of an app that is made here.
_APP = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an app is: what `load_source` reads, or the agent or app itself."""

    reference: str = ""
    agent: AgentSource | None = None
    folder: Path | None = None

    @property
    def language(self) -> str:
        """`yaml` if files alone make it, else `python`."""
        if self.folder is not None and any((self.folder / name).is_file() for name in _YAML):
            return "yaml"
        return "yaml" if self.reference.endswith((".yaml", ".yml")) else "python"


class Apps:
    """The apps in a folder, or those that were handed in."""

    def __init__(self, composition: Composition, reference: str | None, agents: Mapping[str, object] | None) -> None:
        self._composition = composition
        self._folder, self._fixed = _found(reference)
        for name, agent in (agents or {}).items():
            self._fixed[name] = Place(agent=_as_source(name, agent))
        self._loaded: dict[str, AgentSource] = {}
        self._loading: dict[str, asyncio.Lock] = {}

    def places(self) -> dict[str, Place]:
        """The apps by name, sorted. A folder in which nothing looks like an agent is left out."""
        found = dict(self._fixed)
        if self._folder is not None and self._folder.is_dir():
            with scandir(self._folder) as entries:
                for entry in entries:
                    if not entry.name.startswith((".", "_")) and entry.is_dir() and is_app(path := Path(entry.path)):
                        found[entry.name] = Place(entry.path, folder=path)
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


def is_app(folder: Path) -> bool:
    """Whether a folder looks like an agent's: nothing is imported."""
    if any(map(isfile, (f"{folder}/{name}" for name in _ENTRIES))):
        return True
    package = folder / "__init__.py"
    if not isfile(package):  # unlike `Path.is_file`, also for a name that no file can have
        return False
    text = package.read_text(encoding="utf-8", errors="replace")
    return any(name in text for name in _NAMES)


def _found(reference: str | None) -> tuple[Path | None, dict[str, Place]]:
    """The folder of agents that a reference names, or the one app."""
    if reference is None:
        return None, {}
    path = Path(reference).absolute()
    if path.is_dir():
        return (None, {path.name: Place(str(path), folder=path)}) if is_app(path) else (path, {})
    if path.is_file():
        return None, {
            path.stem if path.stem not in ("root_agent", "agent", "app") else path.parent.name: Place(str(path))
        }
    module, colon, _ = reference.partition(":")
    if colon:
        return None, {module.removesuffix(".agent").rpartition(".")[2]: Place(reference)}
    try:
        spec = find_spec(reference)
    except (ImportError, ValueError):
        spec = None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        return _found(place)
    raise ConfigurationError(
        f"there is no folder {reference!r}; give a folder of agents, an agent's YAML file or folder, module:attribute, "
        f"or an installed package of agents"
    )


def _as_source(name: str, agent: object) -> AgentSource:
    if isinstance(agent, BaseAgent):
        return AgentSource(agent)
    if isinstance(getattr(agent, "root_agent", None), BaseAgent):
        return AgentSource(agent.root_agent, agent)  # type: ignore[attr-defined]
    raise ConfigurationError(f"agents[{name!r}] is {type(agent).__name__}; give an agent or an App")
