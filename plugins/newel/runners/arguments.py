"""Arguments of the wrong type for runners and runs: one error that says what to give instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from newel_kernel import BaseAgent, ConfigurationError, did_you_mean, subtree
from newel_types import caller_place

if TYPE_CHECKING:
    from newel.apps.app import App

#: Types whose values cannot be a store.
_PLAIN = (str, bytes, int, float, list, tuple, dict, set, type)


def check_root(root: object) -> None:
    """Refuse a root that is not an agent; the kernel reports None."""
    if root is None or isinstance(root, BaseAgent):
        return
    if isinstance(root, type):
        remedy = f"give an object of it: {root.__name__}(...)"
    elif hasattr(root, "root_agent"):
        remedy = "give an app as Runner(app=...), or its root_agent"
    else:
        remedy = "give an agent, such as Agent(name='helper', model='...')"
    raise ConfigurationError(f"the agent of a runner is {_text(root)}, which is not an agent; {remedy}{caller_place()}")


def is_answer(message: object) -> bool:
    """Whether a message, of any type that a runner takes, holds a function response."""
    parts = message.get("parts") if isinstance(message, dict) else getattr(message, "parts", message)
    if not isinstance(parts, list):
        return False
    names = ("function_response", "functionResponse")
    return any(one.get(name) if isinstance(one, dict) else getattr(one, name, None) for one in parts for name in names)


def check_store(store: object, name: str) -> None:
    """Refuse a text or a class as a store: it would fail with the first session."""
    if isinstance(store, _PLAIN):
        remedy = f"an object of it: {store.__name__}(...)" if isinstance(store, type) else "an object"
        where = f"; a URI belongs in newel.yaml, under services: {name.removesuffix('_service')}"
        raise ConfigurationError(
            f"{name} is {_text(store)}; give {remedy}{where if isinstance(store, str) else ''}{caller_place()}"
        )


def listed_plugins(plugins: Sequence[object] | None) -> Sequence[object] | None:
    """`plugins`, if it is a list of plugins and not a single one; else a ConfigurationError."""
    if plugins is not None and (isinstance(plugins, str) or not hasattr(plugins, "__iter__")):
        raise ConfigurationError(f"plugins is {_text(plugins)}; give a list of plugins: plugins=[...]{caller_place()}")
    return plugins


def own_plugins(app: App | None, root: object, plugins: Sequence[object] | None) -> list[object]:
    """The plugins of a runner's own: `plugins`, or its app's. Both at once, or an app and a root, are refused."""
    if app is not None and (root is not None or plugins):
        both = "Runner takes either `app`, or `agent` with `app_name` and `plugins`; not both"
        raise ConfigurationError(f"{both}{caller_place()}")
    return list(listed_plugins(plugins) or (app.plugins if app is not None else ()) or ())


def deps_types(root: BaseAgent) -> Sequence[tuple[str, type]]:
    """The agents of a tree that need deps, each with the type."""
    found = [(one.name, getattr(one, "deps_type", None)) for one in subtree(root)]
    return [(name, needed) for name, needed in found if needed is not None]


def check_deps(needed: Sequence[tuple[str, type]], deps: object) -> None:
    """Refuse deps that an agent cannot use."""
    for name, kind in needed:
        with suppress(TypeError):  # a protocol that cannot be checked
            if not isinstance(deps, kind):
                given = "none were given" if deps is None else f"not {_text(deps)}"
                raise ConfigurationError(
                    f"the agent {name!r} needs deps of the type {kind.__name__}, {given}: "
                    f"pass deps={kind.__name__}(...) to the run{caller_place()}"
                )


def check_options(options: Iterable[str], known: Sequence[str]) -> None:
    """Refuse options that `run` does not have."""
    if wrong := [name for name in options if name not in known]:
        hint = did_you_mean(wrong[0], known) or "; for the options of a run make a Runner and call its run_async"
        raise ConfigurationError(f"run() has no option {wrong[0]!r}{hint}{caller_place()}")


def check_message(message: object) -> None:
    """Refuse a value that cannot be a message; a dict and other objects are validated as a Content."""
    if isinstance(message, (bytes, int, float, set, type)):
        remedy = "give a text, a Content, a Part or a list of parts"
        raise ConfigurationError(f"the message is {_text(message)}; {remedy}{caller_place()}")


def _text(value: object) -> str:
    if value is None:
        return "None"
    text = repr(value)
    return f"{text[:60]}{'...' if len(text) > 60 else ''} ({type(value).__name__})"
