"""Deprecations: the names and hooks that plugins use and that the next major version of the API does not have.

A name is deprecated by its package's `lazy_exports(..., deprecated={...})`, a hook and its kind by marking the
specification with `typing_extensions.deprecated`. A developer sees the warning, as Python shows every
DeprecationWarning; `newel plugins why` and `newel doctor` tell it to everybody.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from newel_compose._internal.discovery import deprecated_uses
from newel_compose._internal.faults import blaming
from newel_types import ApiDeprecationWarning

#: The attribute by which `typing_extensions.deprecated` marks a function.
MARK = "__deprecated__"


def deprecations_of(
    sources: Mapping[str, str], hooks: Mapping[str, Sequence[str]], remedies: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Plugin -> what it uses that is deprecated, as sentences without a subject; a warning names each plugin.

    `sources` are the plugins with their packages, `hooks` those that each implements, `remedies` what is said of those
    that are deprecated. If the warning is an error here, it is the plugin's.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, source in sources.items():
        uses = [
            f"implements {hook}, which is deprecated: {remedies[hook]}"
            for hook in hooks.get(name, ())
            if hook in remedies
        ]
        if told := (*deprecated_uses.get(name, ()), *uses):
            found[name] = told
            with blaming(name, "uses what is deprecated, and warnings are errors here"):
                warnings.warn(f"the plugin {name!r} ({source}) {'; it '.join(told)}", ApiDeprecationWarning, 2)
    return found
