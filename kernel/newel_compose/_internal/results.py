"""Results: check what registration hooks return."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TypeVar

from newel_compose._internal.descriptors import Describable
from newel_compose._internal.faults import quoted, with_fault
from newel_kernel import Descriptor, HookSignatureError, Stage, class_name, plain

T = TypeVar("T")
#: The most characters of a name: it is shown in tables and lists.
_LONGEST = 200


def listed(name: str, hook: str, result: object, kind: type[T]) -> Sequence[T]:
    """The result of a hook, checked to be a list of a kind."""
    if not isinstance(result, (list, tuple)):
        if inspect.iscoroutine(result):
            result.close()  # nobody will await it
        raise wrong(name, hook, f"returned {class_name(result)}, not a list of {kind.__name__}")
    for item in result:
        if not isinstance(item, kind):
            raise wrong(name, hook, f"returned {quoted(item)}, not a {kind.__name__}")
        if isinstance(item, Descriptor) and (why := _why_no_name(item.name)):
            raise wrong(name, hook, f"returned a {kind.__name__} with name={quoted(item.name)}; a name must {why}")
        if isinstance(item, Stage):
            _check_anchors(name, hook, item)
        elif (hasattr(item, "after") or hasattr(item, "before")) and _has_anchors(item, kind):
            words = f"a {kind.__name__} with anchors, which that kind does not take: it has no order"
            raise wrong(name, hook, f"returned {words}")
    return result


def _why_no_name(name: object) -> str:
    """What a name must be that is none; empty if it is one."""
    if not isinstance(name, str):
        return "be a string"
    hash(name)  # a class of its own may refuse it: then it is told here
    if not name or len(name) > _LONGEST or plain(name) != name:
        return f"have 1 to {_LONGEST} characters that can be shown"
    return ""


def _has_anchors(item: object, kind: type[object]) -> bool:
    """Whether an item has anchors that its kind does not know."""
    return any(getattr(item, side, ()) and not hasattr(kind, side) for side in ("after", "before"))


def _check_anchors(name: str, hook: str, stage: Stage) -> None:
    """Refuse a string in place of a tuple of names: each of its letters would be an anchor."""
    int(stage.phase)  # a property may raise: then it is told here
    for side in ("after", "before"):
        anchors = getattr(stage, side)
        if isinstance(anchors, str) or not all(isinstance(anchor, str) for anchor in anchors):
            remedy = f"({quoted(anchors)},)" if isinstance(anchors, str) else "a tuple of names"
            raise wrong(name, hook, f"returned {stage.name!r} with {side}={quoted(anchors)}; write {side}={remedy}")


def wrong(name: str, hook: str, what: str) -> HookSignatureError:
    """The error for a wrong result of a plugin's hook; leaving out the plugin solves it."""
    return with_fault(HookSignatureError(f"the plugin {name!r}: {hook} {what}"), name, f"its {hook} {what}")


def described(result: object, kind: type[Descriptor]) -> object:
    """The result of a hook; each `Describable` in it is replaced by its descriptor."""
    if not isinstance(result, (list, tuple)) or all(isinstance(item, kind) for item in result):
        return result
    return [item.describe(kind) if isinstance(item, Describable) else item for item in result]
