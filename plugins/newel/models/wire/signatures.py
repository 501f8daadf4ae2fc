"""Signatures: the data that a provider must get back with a part, and its owner.

A signature is in `Part.thought_signature` as the provider gave it (letters as UTF-8, bytes unchanged), its owner
under `OWNER` in `Part.part_metadata`. Parts of another runtime have no owner there; the signature reveals it.
"""

from __future__ import annotations

import re
from typing import Any

from newel_types import Part

OWNER = "provider"
_BASE64 = re.compile(rb"[A-Za-z0-9+/_=-]+")


def signed(part: Part, provider: str, signature: str | bytes | None, **metadata: Any) -> Part:
    """`part` with a signature of `provider`, and with the other fields that only `provider` needs."""
    if signature is not None:
        part.thought_signature = signature.encode() if isinstance(signature, str) else signature
    fields = {name: value for name, value in metadata.items() if value is not None}
    part.part_metadata = {**(part.part_metadata or {}), OWNER: provider, **fields}
    return part


def owner_of(part: Part) -> str | None:
    """The provider whose signature a part carries; None if it has neither a signature nor an owner."""
    owner = (part.part_metadata or {}).get(OWNER)
    if isinstance(owner, str):
        return owner
    signature = part.thought_signature
    if not signature:
        return None
    if _BASE64.fullmatch(signature) is None:
        return "gemini"  # the only ones that are bytes
    return "openai" if signature.startswith(b"gAAAA") else "anthropic"


def signature_of(part: Part, provider: str) -> bytes | None:
    """The signature of a part if it is `provider`'s, else None: a foreign one is never sent."""
    return part.thought_signature if part.thought_signature and owner_of(part) == provider else None


def kept_for(part: Part, provider: str, name: str) -> Any:
    """The value that `signed` kept under `name` for `provider`; None if it kept none, or for another."""
    metadata = part.part_metadata or {}
    return metadata.get(name) if metadata.get(OWNER) == provider else None
