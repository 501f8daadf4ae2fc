"""Addresses: the base URL that a setting or a variable gives, checked before anything is sent."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from newel_kernel import ModelError


def base_url_of(model: str, setting: str | None, variable: str | None = None) -> str | None:
    """The base URL of a model: that of its setting, else of the environment; None: the vendor's.

    Raises ModelError if it is not an address with ``http`` or ``https``; its password is not shown.
    """
    url = setting or (os.environ.get(variable, "").strip() if variable else "")
    if not url:
        return None
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if right:
        return url
    where = "base_url" if setting else variable
    bare = url.rpartition("@")[2].partition("://")
    raise ModelError(
        f"the model {model!r}: {where} is {(bare[2] or bare[0])!r}, which is not the address of a service; write it "
        f"with its scheme, as in http://localhost:8000/v1"
    )
