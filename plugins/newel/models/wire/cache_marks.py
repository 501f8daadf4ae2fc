"""Cache marks: which places of a request its service may cache, if it caches what is marked.

A mark lets the service keep everything before it. A later request finds that again if it has a mark there, or one that
is only a few blocks further on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from newel.models.capabilities import fact_of
from newel.models.google.request_keys import CACHE_CONFIG, CACHEABLE_TOKENS
from newel_kernel import Json, Key, LlmRequest

#: For how long marked prefixes are kept from their last use, ``5m`` or ``1h``; None: nothing is marked.
LIFETIME: Key[str | None] = Key("lifetime of cached prefixes")
#: Whether a later request may begin with all of this one; it may, unless a processor knows better.
CONTINUES: Key[bool] = Key("the request is continued by others")
#: The least tokens of a prompt that the service caches, for models that the table of facts does not name.
_LEAST = 1024
#: The lifetime, in seconds, beyond which the longer of the two is requested.
_SHORT = 300
#: No tokenizer makes more tokens of a text than one for each two characters, but for scripts that need the cache most.
_LEAST_CHARACTERS = 2


def control_of(request: LlmRequest, model: str, *values: object) -> Json | None:
    """The mark: as the app caches its requests, else as the distribution does. None: this request has no marks.

    Without the app's word, a prompt whose texts, `values`, are too short for the Claude model has none: the service
    would not keep it.
    """
    if not is_cached(request, "anthropic", model, *values):
        return None
    settings = request.stash.get(CACHE_CONFIG, None)
    if settings is None:
        return {"type": "ephemeral", "ttl": request.stash[LIFETIME]}
    return {"type": "ephemeral", "ttl": "1h" if settings.ttl_seconds > _SHORT else "5m"}


def is_cached(request: LlmRequest, provider: str, model: str, *values: object) -> bool:
    """Whether a request has marks: as the app says, else as the distribution does.

    Without the app's word, a prompt whose texts, `values`, are too short for the model has none.
    """
    settings = request.stash.get(CACHE_CONFIG, None)
    if settings is not None:
        return (request.stash.get(CACHEABLE_TOKENS, None) or 0) >= settings.min_tokens
    least = fact_of(provider, model, "least_cached_tokens") or _LEAST
    return bool(request.stash.get(LIFETIME, None)) and _is_long(least, values)


def ends(request: LlmRequest, roles: Sequence[str]) -> list[int]:
    """The messages of a history at whose ends marks belong: this request's last, and that of the request before it.

    What the model said last came from a request that ended just before that; it left an entry there. A step may add
    more blocks than the service looks back over, so its last mark alone does not find that entry.
    A request that none continues has no mark at its own end, since what is written costs more than what is not.
    """
    last = len(roles) - 1
    said = max((index for index, role in enumerate(roles[:last]) if role == "assistant"), default=0)
    own = [last] if request.stash.get(CONTINUES, True) else []
    return [said - 1, *own] if said > 0 else own


def _is_long(least: int, values: object) -> bool:
    """Whether the texts of `values` can have `least` tokens."""
    missing = least * _LEAST_CHARACTERS
    for text in _texts(values):
        missing -= len(text)
        if missing <= 0:
            return True
    return False


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
