"""What newel's own plugins declare and provide, found in the composition of `standard` and in that of evaluations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from newel.evaluation.plugins import evaluation_composition
from newel_compose import Composition, Distribution, load
from newel_compose._internal import hookspecs  # the host's own: no package offers them, any plugin may implement them
from newel_kernel import KERNEL_KINDS, Kind, Stage


class Declared(NamedTuple):
    """A kind, and who declares it."""

    kind: Kind[Any]
    owner: str

    @property
    def name(self) -> str:
        """The name of its descriptor's class."""
        return self.kind.descriptor.__name__

    @property
    def chain(self) -> str:
        """The key of a distribution that gives the order of its stages, or empty."""
        order = self.kind.order
        return f"orders: {order}" if order and order not in Distribution.model_fields else order

    @property
    def is_stage(self) -> bool:
        """Whether its descriptors have anchors."""
        return issubclass(self.kind.descriptor, Stage)


@cache
def composition() -> Composition:
    """The plugins of `standard`, with those of evaluations."""
    return evaluation_composition("standard")


@cache
def own_plugins() -> tuple[str, ...]:
    """The names of newel's own plugins, without those that are only installed beside it."""
    return tuple(record.name for record in composition().plugins if record.distribution == "newel")


@cache
def kinds() -> tuple[Declared, ...]:
    """Every kind: the kernel's, the host's, and those of newel's plugins."""
    result = [Declared(kind, "the kernel") for kind in KERNEL_KINDS]
    result += [Declared(kind, "the host") for kind in hookspecs.host_kinds()]
    for group in ("newel.plugins", "newel.evaluation"):
        for name, plugin in load(own_plugins(), group=group)[0].items():
            if declare := getattr(plugin, "register_kinds", None):
                result += [Declared(kind, f"the plugin `{name}`") for kind in declare()]
    return tuple(result)


def other_registration_hooks() -> tuple[Callable[..., Any], ...]:
    """The hooks that provide no kind: a plugin describes itself with them."""
    return hookspecs.register_settings, hookspecs.register_kinds
