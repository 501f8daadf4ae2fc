"""Results: check what registration hooks return."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TypeVar

from newel_compose._internal.descriptors import Describable
from newel_compose._internal.faults import with_fault
from newel_kernel import Descriptor, HookSignatureError, Stage

T = TypeVar("T")


def listed(name: str, hook: str, result: object, kind: type[T]) -> Sequence[T]:
    """The result of a hook, checked to be a list of a kind."""
    if not isinstance(result, (list, tuple)):
        if inspect.iscoroutine(result):
            result.close()  # nobody will await it
        raise wrong(name, hook, f"returned {type(result).__name__}, not a list of {kind.__name__}")
    for item in result:
        if not isinstance(item, kind):
            raise wrong(name, hook, f"returned {item!r}, not a {kind.__name__}")
        if isinstance(item, Descriptor) and not isinstance(item.name, str):
            raise wrong(name, hook, f"returned a {kind.__name__} with name={item.name!r}; a name must be a string")
        if isinstance(item, Stage):
            _check_anchors(name, hook, item)
        elif (hasattr(item, "after") or hasattr(item, "before")) and _has_anchors(item, kind):
            words = f"a {kind.__name__} with anchors, which that kind does not take: it has no order"
            raise wrong(name, hook, f"returned {words}")
    return result


def _has_anchors(item: object, kind: type[object]) -> bool:
    """Whether an item has anchors that its kind does not know."""
    return any(getattr(item, side, ()) and not hasattr(kind, side) for side in ("after", "before"))


def _check_anchors(name: str, hook: str, stage: Stage) -> None:
    """Refuse a string in place of a tuple of names: each of its letters would be an anchor."""
    for side in ("after", "before"):
        anchors = getattr(stage, side)
        if isinstance(anchors, str) or not all(isinstance(anchor, str) for anchor in anchors):
            remedy = f"({anchors!r},)" if isinstance(anchors, str) else "a tuple of names"
            raise wrong(name, hook, f"returned {stage.name!r} with {side}={anchors!r}; write {side}={remedy}")


def wrong(name: str, hook: str, what: str) -> HookSignatureError:
    """The error for a wrong result of a plugin's hook; leaving out the plugin solves it."""
    return with_fault(HookSignatureError(f"the plugin {name!r}: {hook} {what}"), name, f"its {hook} {what}")


def described(result: object, kind: type[Descriptor]) -> object:
    """The result of a hook; each `Describable` in it is replaced by its descriptor."""
    if not isinstance(result, (list, tuple)) or all(isinstance(item, kind) for item in result):
        return result
    return [item.describe(kind) if isinstance(item, Describable) else item for item in result]
