"""Outgoing requests: every URL that the runtime fetches passes one guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.net.addresses import is_public as is_public
    from newel.net.client import Reply as Reply
    from newel.net.client import fetch as fetch
    from newel.net.client import fetch_blocking as fetch_blocking
    from newel.net.guard import DEFAULT_POLICY as DEFAULT_POLICY
    from newel.net.guard import FetchError as FetchError
    from newel.net.guard import Policy as Policy
    from newel.net.guard import Target as Target
    from newel.net.guard import UrlRefusedError as UrlRefusedError
    from newel.net.guard import check as check

_WHERE = {
    "DEFAULT_POLICY": "newel.net.guard",
    "FetchError": "newel.net.guard",
    "Policy": "newel.net.guard",
    "Reply": "newel.net.client",
    "Target": "newel.net.guard",
    "UrlRefusedError": "newel.net.guard",
    "check": "newel.net.guard",
    "fetch": "newel.net.client",
    "fetch_blocking": "newel.net.client",
    "is_public": "newel.net.addresses",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
