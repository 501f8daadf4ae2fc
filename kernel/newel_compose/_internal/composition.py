"""Composition: the frozen result of composing a distribution's plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from newel_compose._internal.descriptors import Backend
from newel_compose._internal.distribution import Distribution
from newel_compose._internal.functions import blamed
from newel_compose._internal.ordering import Placed
from newel_compose._internal.registry import PluginRegistry, words
from newel_compose._internal.uris import without_password
from newel_kernel import Chains, FeatureUnavailableError, NewelError, PluginError, class_name

S = TypeVar("S")


class PluginRecord(NamedTuple):
    """What became of a plugin: `state` is enabled, disabled, failed, left out or available; `why` is the reason."""

    name: str
    distribution: str
    version: str
    state: str
    why: str
    hooks: tuple[str, ...] = ()
    #: What is left out of it (a hook of a kind that nothing declares, an item that is disabled), each with the reason.
    left_out: tuple[str, ...] = ()
    #: What it uses that the next major version of the API does not have, as sentences without a subject.
    deprecated: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Distribution and version as one text."""
        return f"{self.distribution} {self.version}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition(Chains):
    """The chains, hooks and registry of a distribution, and where they come from. It never changes."""

    registry: PluginRegistry
    distribution: Distribution
    placed: Mapping[str, tuple[Placed, ...]]
    plugins: tuple[PluginRecord, ...]
    #: The plugin objects that were handed in directly.
    objects: tuple[object, ...] = ()

    def open_service(self, kind: type[Backend[S]], uri: str | None = None) -> S | None:
        """The store of a kind at `uri`, or at the URI that the distribution sets; None if it sets none."""
        address = uri if uri is not None else self.distribution.services.get(kind.service)
        if not address:
            return None
        scheme = address.partition(":")[0]
        if scheme in self.registry.owned(kind):
            return self._open(kind, scheme, address)
        noun = kind.noun or f"{kind.service} store"
        if package := kind.packages.get(scheme):
            raise FeatureUnavailableError(
                f"the {noun} {without_password(address)!r} needs the package {package}: pip install {package}"
            )
        hint = "" if ":" in address else "; write it as a URI, such as sqlite:///sessions.db"
        raise FeatureUnavailableError(
            f"no plugin provides {'an' if noun[0] in 'aeiou' else 'a'} {noun} for {without_password(address)!r}"
            f"{self.registry.instead(kind, scheme, lambda name: f'{name}:')}{hint}"
        )

    def _open(self, kind: type[Backend[S]], scheme: str, address: str) -> S:
        """The store that a plugin opens; an error of the plugin's code names the plugin."""
        owned = self.registry.owned(kind)[scheme]
        who = f"the {words(kind)} {scheme!r} of the plugin {owned.plugin!r} ({owned.source})"
        try:
            backend = self.registry.find(kind, scheme)
            store = backend.open(address) if backend.open_in is None else backend.open_in(address, self)
        except (NewelError, OSError):
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin boundary
            raise blamed(error, who)  # noqa: B904 - it has its cause
        if store is None or (missing := [name for name in kind.methods if not hasattr(store, name)]):
            given = "None" if store is None else f"{class_name(store)}, which has no {', '.join(missing)}"
            raise PluginError(f"{who}: open({without_password(address)!r}) returned {given}; it must return a store")
        return store
