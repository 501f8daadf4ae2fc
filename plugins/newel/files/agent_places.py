"""Agent places: where the agents are that one reference names: a folder of them, one agent, or a package."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from os import scandir
from os.path import isfile
from pathlib import Path

from newel.files.agent_source import AgentSource
from newel_kernel import ConfigurationError

_YAML = tuple(f"{name}{suffix}" for name in ("app", "root_agent", "agent") for suffix in (".yaml", ".yml"))
_ENTRIES = ("agent.py", *_YAML, "agent/__init__.py")
_NAMES = ("root_agent", "app")


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


def places_in(folder: Path) -> dict[str, Place]:
    """The agents in a folder, by the names of their folders. One in which nothing looks like an agent is left out."""
    found: dict[str, Place] = {}
    if folder.is_dir():
        with scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith((".", "_")) and entry.is_dir() and is_app(path := Path(entry.path)):
                    found[entry.name] = Place(entry.path, folder=path)
    return found


def is_app(folder: Path) -> bool:
    """Whether a folder looks like an agent's: nothing is imported."""
    if any(map(isfile, (f"{folder}/{name}" for name in _ENTRIES))):
        return True
    package = folder / "__init__.py"
    if not isfile(package):  # unlike `Path.is_file`, also for a name that no file can have
        return False
    text = package.read_text(encoding="utf-8", errors="replace")
    return any(name in text for name in _NAMES)


def agent_places(reference: str) -> tuple[Path | None, dict[str, Place]]:
    """The folder of agents that a reference names, or the one agent by its name."""
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
        return agent_places(place)
    raise ConfigurationError(
        f"there is no folder {reference!r}; give a folder of agents, an agent's YAML file or folder, module:attribute, "
        f"or an installed package of agents"
    )
