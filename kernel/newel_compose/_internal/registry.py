"""The registry: what the plugins of a composition provide, by kind and name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

from newel_compose._internal.ordering import Owned
from newel_kernel import ConfigurationError, Descriptor, did_you_mean

D = TypeVar("D", bound=Descriptor)
_NOTHING: Mapping[str, Owned] = MappingProxyType({})


class PluginRegistry:
    """Descriptors by kind and name, each with its provider."""

    __slots__ = ("_by_kind", "_declared", "_hint")

    def __init__(
        self,
        by_kind: Mapping[type[Descriptor], Mapping[str, Owned]],
        declared: Mapping[type[Descriptor], str],
        hint: str,
    ) -> None:
        self._by_kind = by_kind
        #: The kinds that the kernel or an enabled plugin declares, even if no plugin provides any -> their names.
        self._declared = declared
        #: A possible reason why something is missing: the end of a message.
        self._hint = hint

    def find(self, kind: type[D], name: str) -> D:
        """The descriptor of that kind and name; a ConfigurationError names the known ones."""
        owned = self.owned(kind)
        if name in owned:
            return cast("D", owned[name].item)
        raise ConfigurationError(f"no plugin provides the {words(kind)} {name!r}{self.instead(kind, name)}")

    def all(self, kind: type[D]) -> list[D]:
        """The descriptors of a kind in its order; if the kind has no order, in that of their plugins."""
        return [cast("D", owned.item) for owned in self.owned(kind).values()]

    def owned(self, kind: type[Descriptor]) -> Mapping[str, Owned]:
        """The descriptors of a kind by name, each with its provider."""
        return self._by_kind.get(kind, _NOTHING)

    def kinds(self) -> Iterator[tuple[type[Descriptor], Mapping[str, Owned]]]:
        """Every kind that has descriptors, with them."""
        yield from self._by_kind.items()

    def kind_names(self) -> dict[str, str]:
        """How `disable` and `replace` name each kind that is declared -> its class."""
        return {
            name: f"{kind.__module__}.{kind.__qualname__}" for kind, name in sorted(self._declared.items(), key=str)
        }

    def with_items(self, change: Callable[[Any], Any]) -> PluginRegistry:
        """The same registry with what `change` makes of each descriptor, under the same name and provider."""
        by_kind = {
            kind: {name: owned._replace(item=change(owned.item)) for name, owned in descriptors.items()}
            for kind, descriptors in self._by_kind.items()
        }
        return PluginRegistry(by_kind, self._declared, self._hint)

    def address(self, kind: type[Descriptor], name: str) -> str:
        """How `disable` and `replace` name a descriptor: ``session_backends/sqlite``."""
        return f"{self._declared[kind]}/{name}"

    def instead(self, kind: type[Descriptor], name: str, show: Callable[[str], str] = str) -> str:
        """The end of a message that `name` is missing: a similar name, the known names, a possible reason."""
        owned = self.owned(kind)
        if kind not in self._declared:
            return self.why_missing(kind)
        names = ", ".join(show(one) for one in sorted(owned)) or "none"
        return f"{did_you_mean(name, owned)} (there are: {names}){self._hint}"

    def why_missing(self, kind: type[Descriptor]) -> str:
        """A possible reason why a descriptor of this kind is missing, for the end of an error message; may be empty."""
        if kind in self._declared:
            return self._hint
        return f": no enabled plugin declares what a {words(kind)} is (enable the plugin that does){self._hint}"


def words(kind: type[object]) -> str:
    """The name of a kind in words: ``model provider``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()
