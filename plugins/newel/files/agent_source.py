"""Agent sources: what a command or the server may name as an agent."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from newel.files.allow_list import AppCode
from newel.files.projects import importable
from newel_compose import Composition, describe_error
from newel_kernel import BaseAgent, ConfigurationError, NewelError, did_you_mean
from newel_types import deferred

# The compiler of agent files, a third of what the server imports: agents in Python do without it.
_load_file = deferred("newel.files.apps", "load_file")
_FILES = tuple(f"{name}{suffix}" for name in ("app", "root_agent", "agent") for suffix in (".yaml", ".yml"))
_SUFFIXES = (".yaml", ".yml")
_ATTRIBUTES = ("app", "root_agent")


@dataclass(frozen=True, slots=True)
class AgentSource:
    """A root agent, and the app around it, if any."""

    agent: BaseAgent
    app: Any = None

    @property
    def name(self) -> str:
        """The name under which its sessions are kept."""
        return str(self.app.name) if self.app is not None else self.agent.name

    @property
    def plugins(self) -> Sequence[object]:
        """The app's plugins."""
        return tuple(self.app.plugins) if self.app is not None else ()


def load_source(reference: str, composition: Composition) -> AgentSource:
    """The agent of a YAML file, a folder or ``module:attribute``; a ConfigurationError says what is wrong."""
    path = Path(reference)
    if path.is_dir():
        importable(path)
        return _from_folder(path, composition)
    if path.suffix in _SUFFIXES and path.is_file():
        importable(path.parent)
        return _from_file(path, composition)
    module, colon, attribute = reference.partition(":")
    if colon and path.suffix not in _SUFFIXES:
        return _from_module(module, attribute)
    if path.suffix == ".py" and path.is_file():
        raise ConfigurationError(
            f"{reference} is a module; give its folder, or {path.stem}:root_agent from the folder that holds it"
        )
    if path.exists() or path.is_symlink():
        raise ConfigurationError(f"{reference} is not a file that holds an agent: {_instead(path)}")
    raise ConfigurationError(
        f"there is no agent {reference!r}{did_you_mean(reference, _nearby(path))}; "
        f"give a YAML file, a folder with root_agent.yaml or agent.py, or module:attribute"
    )


def _instead(path: Path) -> str:
    """What `path` is instead of an agent file, or what to give instead."""
    if path.is_symlink() and not path.exists():
        return "it is a broken link"
    return f"give a YAML file ({' or '.join(_SUFFIXES)})" if path.is_file() else "it is a pipe or a device"


def _nearby(path: Path) -> list[str]:
    """What could have been meant: YAML files and folders next to `path`."""
    parent = path.parent
    if not parent.is_dir():
        return []
    return [str(parent / entry.name) for entry in parent.iterdir() if entry.suffix in _SUFFIXES or entry.is_dir()]


def _from_file(path: Path, composition: Composition) -> AgentSource:
    return _as_source(_load_file()(path, composition), str(path))


def _from_folder(folder: Path, composition: Composition) -> AgentSource:
    for name in _FILES:
        if (folder / name).is_file():
            return _from_file(folder / name, composition)
    code = AppCode(folder)
    for parts in (("agent",), ()):
        if code.has(*parts):
            module = code.module(*parts)
            root = next((getattr(module, name) for name in _ATTRIBUTES if hasattr(module, name)), None)
            if root is not None:
                return _as_source(root, f"{folder}: `root_agent`")
            names = [name for name, value in vars(module).items() if isinstance(value, BaseAgent)]
            if names:
                hint = did_you_mean("root_agent", names)
                raise ConfigurationError(
                    f"{folder}: {module.__name__.rpartition('.')[2]} has no `root_agent`{hint} (its agents: "
                    f"{', '.join(names)}); rename one, or give {folder.name}.agent:{names[0]}"
                )
    raise ConfigurationError(
        f"the folder {folder} holds no agent; it needs root_agent.yaml, agent.yaml, or agent.py with `root_agent`"
    )


def _from_module(module: str, attribute: str) -> AgentSource:
    here = str(Path.cwd())
    if here not in sys.path:  # a console script does not search the working directory
        sys.path.insert(0, here)
    try:
        value: object = import_module(module)
    except NewelError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"the module {module!r} cannot be imported: {describe_error(error)}; "
            f"run from the folder that holds it, or install it"
        ) from error
    for name in (attribute or "root_agent").split("."):
        if not hasattr(value, name):
            public = [n for n in dir(value) if not n.startswith("_")]
            raise ConfigurationError(f"{module!r} has no attribute {name!r}{did_you_mean(name, public)}")
        value = getattr(value, name)
    return _as_source(value, f"{module}:{attribute}")


def _as_source(value: Any, where: str) -> AgentSource:
    if isinstance(value, BaseAgent):
        return AgentSource(value)
    if isinstance(getattr(value, "root_agent", None), BaseAgent):
        return AgentSource(value.root_agent, value)
    raise ConfigurationError(f"{where} is of type {type(value).__name__}, neither an agent nor an app; name an agent")
