"""The kinds `WebPanel`, tabs of the page that plugins add, and `Redaction`, which masks an exported page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from newel_kernel import Descriptor, Json, Settings, hookspec


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPanel(Descriptor):
    """A tab of the web UI, next to the conversation. Its name is unique, and part of its address.

    The page makes the custom element `element` when the tab is opened, and gives it properties: `session` (app, user,
    id, state), `events` (as the API has them) and `base` (where the API is). It sets them again when they change.
    """

    #: The words on the tab.
    title: str
    #: The name of the custom element, with a hyphen.
    element: str
    #: Returns the source of the ES module that defines it. It may import from the page: ``../vendor/preact.js``.
    source: Callable[[], str]
    #: One line about it, which is shown until the reader closes it.
    line: str = ""
    #: Whether it is left out when stored sessions are shown without their agents.
    needs_agent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction(Descriptor):
    """Masks what leaves with an exported page (`newel web --export`)."""

    #: Gets JSON data and returns it masked, as new data. The structure stays the same.
    redact: Callable[[Json], Json]


@hookspec
def register_redactions(settings: Settings) -> Sequence[Redaction]:
    """What masks an exported page. Returns the data of the page, masked.

    >>> class Plugin:
    ...     @hookimpl
    ...     def register_redactions(self):
    ...         return [Redaction(name="blank", redact=lambda data: {})]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(Redaction, "blank").redact({"text": "secret"})
    {}
    """
    return ()


@hookspec
def register_web_panels(settings: Settings) -> Sequence[WebPanel]:
    """Tabs of the web UI. Returns the source of a module that defines a custom element.

    >>> class Plugin:
    ...     @hookimpl
    ...     def register_web_panels(self):
    ...         return [WebPanel(name="hats", title="Hats", element="shop-hats", source=lambda: "")]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(WebPanel, "hats").title
    'Hats'
    """
    return ()
