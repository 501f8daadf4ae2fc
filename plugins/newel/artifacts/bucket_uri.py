"""Bucket URIs: ``scheme://bucket/prefix?parameter=value``, without credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from newel_compose import without_password
from newel_kernel import ConfigurationError, did_you_mean


def bucket_of(uri: str, parameters: Mapping[str, str]) -> tuple[str, str, dict[str, Any]]:
    """The bucket, the prefix and the options that a URI names; `parameters` maps its known parameters to options."""
    label = repr(without_password(uri))
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise ConfigurationError(f"{label} is not a URI: write {uri.partition(':')[0]}://bucket/prefix") from None
    if "@" in parts.netloc:
        raise ConfigurationError(
            f"a bucket's URI takes no credentials: remove the part before the @ from that of "
            f"{parts.netloc.rpartition('@')[2]!r}, and give them in the environment"
        )
    if not re.fullmatch(r"[A-Za-z0-9._-]+", parts.netloc):
        raise ConfigurationError(f"{label} names no bucket: write {parts.scheme}://bucket/prefix")
    options: dict[str, Any] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in parameters:
            raise ConfigurationError(
                f"{label}: there is no parameter {name!r}{did_you_mean(name, parameters)} "
                f"(there are: {', '.join(parameters) or 'none'})"
            )
        options[parameters[name]] = value
    return parts.netloc, unquote(parts.path), options
