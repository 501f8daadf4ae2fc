"""Errors of the SDK, without the key: its messages and its requests hold it."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager

#: The headers that carry credentials.
_SECRET_HEADERS = ("x-goog-api-key", "authorization")
_MASK = "[api key]"


@contextmanager
def errors_without(key: str | None) -> Iterator[None]:
    """Let errors pass as they are, but for `key` in them."""
    try:
        yield
    except Exception as error:
        _scrub(error, key)
        raise


def _scrub(error: BaseException | None, key: str | None) -> None:
    """Take the key out of an error of the SDK and of those it came from: its text, its details, its request."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if key:
            error.args = tuple(_masked(argument, key) for argument in error.args)
            for name in ("message", "details"):
                if hasattr(error, name):
                    setattr(error, name, _masked(getattr(error, name), key))
        for holder in (error, getattr(error, "response", None)):
            headers = _request_headers(holder)
            for name in _SECRET_HEADERS:
                headers.pop(name, None)
        error = error.__cause__ or error.__context__


def _request_headers(holder: object) -> MutableMapping[str, str]:
    """The headers of the request that an HTTP error or response belongs to."""
    try:
        headers: MutableMapping[str, str] = holder.request.headers  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):  # it has none, or none was set
        return {}
    return headers


def _masked(value: object, key: str) -> object:
    if isinstance(value, str):
        return value.replace(key, _MASK)
    if isinstance(value, dict):
        return {name: _masked(inner, key) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, key) for inner in value]
    return value
