"""Agents by the name of their module, as tests name them."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

from newel.errors.not_found_error import NotFoundError
from newel_kernel import BaseAgent, ConfigurationError


def _agent_module(name: str) -> ModuleType:
    module = import_module(name)
    if name.endswith(".agent"):
        return module
    inner = getattr(module, "agent", None)
    if not isinstance(inner, ModuleType):
        raise ConfigurationError(f"the module {name!r} has no member `agent`; name the module that has one")
    return inner


async def agent_of_module(name: str, agent_name: str | None = None) -> BaseAgent:
    """The root agent of a module (its `root_agent`, or the result of `get_agent_async`), or a named agent below it."""
    module = _agent_module(name)
    root = getattr(module, "root_agent", None)
    if root is None and hasattr(module, "get_agent_async"):
        root = module.get_agent_async()
        root = await root if inspect.isawaitable(root) else root
        root = root[0] if isinstance(root, tuple) else root
    if not isinstance(root, BaseAgent):
        raise ConfigurationError(f"the module {module.__name__!r} has neither `root_agent` nor `get_agent_async`")
    if not agent_name:
        return root
    agent = root.find_agent(agent_name)
    if agent is None:
        raise NotFoundError(f"there is no agent {agent_name!r} below {root.name!r}")
    return agent


def folder_of_module(name: str) -> Path | None:
    """The folder of the module; custom metrics may come from its code."""
    file = getattr(import_module(name), "__file__", None)
    return Path(file).parent if file is not None else None
