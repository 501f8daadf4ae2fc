"""Address: the URI of a bus or of limits, which has parameters of ours in addition to those of Redis."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from newel_kernel import ConfigurationError


def read_address(uri: str, what: str, patience: float) -> tuple[str, str, float]:
    """The URL of Redis, the prefix of the keys, and the patience in seconds; `patience` if the URI has none."""
    parts = urlsplit(uri)
    params = dict(parse_qsl(parts.query, keep_blank_values=True))
    prefix, given = params.pop("prefix", "newel"), params.pop("patience", f"{patience:g}")
    try:
        seconds = float(given)
    except ValueError as error:
        raise ConfigurationError(f"patience in the URL of {what} must be a number, not {given!r}") from error
    return urlunsplit(parts._replace(query=urlencode(params))), prefix, seconds
