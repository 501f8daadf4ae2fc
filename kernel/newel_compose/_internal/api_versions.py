"""API versions: the version that a package was written for, against the one that is here.

A package says it by an entry point of the group `newel.api` whose name is the version: ``"1.2" = "newel_units"``. Every
build backend takes that. The number of an API is followed by packages that are not releases of newel, so no requirement
in ``Requires-Dist`` can name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from newel_kernel import API

API_GROUP = "newel.api"
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})")


def unmet_api(versions: Iterable[str], package: str, here: str = API) -> str:
    """Why a package written for any of these versions does not fit, as a sentence without a subject; or empty."""
    named = list(dict.fromkeys(versions))
    pairs = [_pair(one) for one in named]
    if wrong := [one for one, pair in zip(named, pairs, strict=True) if pair is None]:
        return (
            f"names the version {wrong[0]!r} of newel's API, which is not two numbers such as {here}; "
            f"pip install -U {package}, or uninstall it"
        )
    known = [pair for pair in pairs if pair is not None]
    major, minor = _pair(here) or (0, 0)
    if not known or any(one[0] == major and one[1] <= minor for one in known):
        return ""
    needed = " or ".join(named)
    if max(known) < (major, minor):
        return f"was written for newel's API {needed}, and this newel has {here}; pip install -U {package}"
    return f"needs newel's API {needed}, but this newel has {here}; pip install -U newel"


def _pair(version: str) -> tuple[int, int] | None:
    match = _VERSION.fullmatch(version)
    return (int(match[1]), int(match[2])) if match else None
