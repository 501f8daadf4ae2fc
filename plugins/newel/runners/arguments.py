"""Arguments of the wrong type for runners and runs: one error that says what to give instead."""

from __future__ import annotations

from collections.abc import Sequence

from newel_kernel import BaseAgent, ConfigurationError

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
    raise ConfigurationError(f"the agent of a runner is {_text(root)}, which is not an agent; {remedy}")


def check_store(store: object, name: str) -> None:
    """Refuse a text or a class as a store: it would fail with the first session."""
    if isinstance(store, _PLAIN):
        remedy = f"an object of it: {store.__name__}(...)" if isinstance(store, type) else "an object"
        where = f"; a URI belongs in newel.yaml, under services: {name.removesuffix('_service')}"
        raise ConfigurationError(f"{name} is {_text(store)}; give {remedy}{where if isinstance(store, str) else ''}")


def listed_plugins(plugins: Sequence[object] | None) -> Sequence[object] | None:
    """`plugins`, if it is a list of plugins and not a single one; else a ConfigurationError."""
    if plugins is not None and (isinstance(plugins, str) or not hasattr(plugins, "__iter__")):
        raise ConfigurationError(f"plugins is {_text(plugins)}; give a list of plugins: plugins=[...]")
    return plugins


def check_message(message: object) -> None:
    """Refuse a value that cannot be a message; a dict and other objects are validated as a Content."""
    if isinstance(message, (bytes, int, float, set, type)):
        raise ConfigurationError(f"the message is {_text(message)}; give a text, a Content, a Part or a list of parts")


def _text(value: object) -> str:
    if value is None:
        return "None"
    text = repr(value)
    return f"{text[:60]}{'...' if len(text) > 60 else ''} ({type(value).__name__})"
