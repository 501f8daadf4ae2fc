"""Secrets: removed from texts, and from the contents of an SDK's exceptions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

MASK = "[api key]"
#: The headers that carry credentials.
_HEADERS = ("x-goog-api-key", "authorization", "x-api-key", "api-key", "proxy-authorization", "cookie")
#: A header's value of fewer letters is hardly a credential.
_LEAST = 8
#: A secret of fewer letters is in many words by chance.
_SHORTEST = 4
#: Headers that hold no secrets: a service's messages about them must stay readable.
_PUBLIC = ("accept", "anthropic-beta", "anthropic-version", "content-type", "http-referer", "user-agent", "x-title")


def environment_headers(variable: str) -> dict[str, str]:
    """The headers that an SDK takes from a variable of the environment, a line each; they may be credentials."""
    lines = (line.partition(":") for line in os.environ.get(variable, "").split("\n"))
    return {name.strip(): value.strip() for name, colon, value in lines if colon}


def header_secrets(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The values of headers, as secrets: all that are long enough, and the part after ``Bearer``."""
    values = [value for name, value in headers.items() if len(value) >= _LEAST and name.lower() not in _PUBLIC]
    return (*values, *(last for value in values if len(last := value.rpartition(" ")[2]) >= _LEAST))


def mask(text: str, secrets: Iterable[str]) -> str:
    """`text` without the secrets, as they are and as libraries quote them: a key may end with a line break.

    A secret of a few letters, such as a made-up key, is only masked as a word of its own.
    """
    forms = {form for secret in secrets for form in _forms(secret) if form}
    if not any(form in text for form in forms):
        return text
    longest_first = sorted(forms, key=len, reverse=True)
    return re.sub("|".join(_pattern(form) for form in longest_first), MASK, text)


def _forms(secret: str) -> tuple[str, ...]:
    return secret, secret.strip(), repr(secret)[1:-1], repr(secret.encode(errors="replace"))[2:-1]


def _pattern(form: str) -> str:
    escaped = re.escape(form)
    return escaped if len(form) >= _SHORTEST else rf"(?<!\w){escaped}(?!\w)"


def without_secrets(error: BaseException | None, secrets: tuple[str, ...]) -> None:
    """Mask the secrets in an exception and in those it came from: its text, its body, its request and response."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.args = tuple(_masked(argument, secrets) for argument in error.args)
        # Each SDK keeps the service's message under names of its own, some twice.
        vars(error).update({name: _masked(value, secrets) for name, value in vars(error).items()})
        response = getattr(error, "response", None)
        for holder in (error, response):
            headers = _request_headers(holder)
            for name in _HEADERS:
                headers.pop(name, None)
        _mask_body(response, secrets)
        error = error.__cause__ or error.__context__


def _mask_body(response: Any, secrets: tuple[str, ...]) -> None:
    """Mask the body that httpx and httpx2 keep, as bytes and as text."""
    content = getattr(response, "_content", None)
    if isinstance(content, bytes) and any(secret and secret.encode() in content for secret in secrets):
        text = content.decode("utf-8", "replace")
        response._content = mask(text, secrets).encode()
        if hasattr(response, "_text"):
            response._text = mask(text, secrets)


def _request_headers(holder: Any) -> MutableMapping[str, str]:
    """The headers of the request that an HTTP error or response belongs to."""
    try:
        headers: MutableMapping[str, str] = holder.request.headers
    except (AttributeError, RuntimeError):  # it has none, or none was set
        return {}
    return headers if isinstance(headers, MutableMapping) else {}


def _masked(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return mask(value, secrets)
    if isinstance(value, bytes):
        return mask(value.decode("latin-1"), secrets).encode("latin-1")
    if isinstance(value, dict):
        return {name: _masked(inner, secrets) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, secrets) for inner in value]
    return value
